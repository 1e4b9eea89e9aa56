// @ts-check
/** The screens, in the order of their tabs. */

import { alignment } from "app/screens/alignment.js";
import { attention } from "app/screens/attention.js";
import { hand } from "app/screens/hand.js";
import { lessons } from "app/screens/lessons.js";
import { position } from "app/screens/position.js";
import { tensors } from "app/screens/tensors.js";
import { translate } from "app/screens/translate.js";
import { tree } from "app/screens/tree.js";
import { whatIf } from "app/screens/what-if.js";

/** @type {import("app/explorer.js").Screen[]} */
export const SCREENS = [translate, attention, hand, tree, whatIf, tensors, position, alignment, lessons];
