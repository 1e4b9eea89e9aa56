// @ts-check
import { h } from "app/dom.js";
import { heading } from "app/parts.js";

/** @type {import("app/explorer.js").Screen} */
export const position = {
  id: "position",
  load: async () => null,
  render: (explorer) => h("section", null, heading(explorer.t("screen.position"), "")),
};
