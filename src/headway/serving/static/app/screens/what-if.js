// @ts-check
/** What if: A is the model as it is, B the same with changes; what that does to the translation. */

import { h } from "app/dom.js";
import { heading } from "app/parts.js";
import { answers, original } from "app/what-if/answers.js";
import { attentionDifference } from "app/what-if/attention.js";
import { columns } from "app/what-if/columns.js";
import { isChanged, isOnlyPrefix, pythonCode } from "app/what-if/edits.js";
import { forced } from "app/what-if/forced.js";
import { changesPanel, examples, lastCross } from "app/what-if/form.js";
import { sweep } from "app/what-if/sweep.js";

/** @typedef {import("app/what-if/answers.js").Answers} Answers */

/** @type {import("app/explorer.js").Screen} */
export const whatIf = {
  id: "what-if",
  trace: original,
  load: answers,
  render: (explorer, /** @type {Answers} */ data) => {
    const isCompared = isChanged(data.changes) && explorer.backend.interactive;
    return h("section", { class: "what-if" },
      heading(explorer.t("screen.what-if"), explorer.t("what-if.sentence")),
      explorer.backend.interactive ? null : h("p", null, explorer.t("what-if.static")),
      changesPanel(explorer, data.changes, data.a),
      isCompared
        ? [columns(explorer, data), forced(explorer, data), isOnlyPrefix(data.changes) ? null : attentionDifference(explorer, data)]
        : explorer.backend.interactive ? examples(explorer, data.a, data.attended) : null,
      sweep(explorer, data),
      h("p", { class: "what-if-caution" }, h("strong", null, explorer.t("what-if.caution")), " ", explorer.t("what-if.caution.words")));
  },
  python: (explorer, /** @type {Answers} */ { changes }) => pythonCode(explorer, changes),
  subject: (explorer, /** @type {Answers} */ { changes: { edits } }) => ({ name: edits[0]?.name ?? `${lastCross(explorer).name}.heads` }),
  figure: (explorer, /** @type {Answers} */ { attention }) => attention?.name ?? null,
};
