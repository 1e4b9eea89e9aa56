// @ts-check
import { h } from "app/dom.js";
import { heading } from "app/parts.js";

/** @type {import("app/explorer.js").Screen} */
export const attention = {
  id: "attention",
  load: async () => null,
  render: (explorer) => h("section", null, heading(explorer.t("screen.attention"), "")),
};
