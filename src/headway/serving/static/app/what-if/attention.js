// @ts-check
/** The chosen attention in A, in B, and B − A on a scale that is symmetrical about zero. */

import { kindOf, kindsOf } from "app/attention-view.js";
import { h } from "app/dom.js";
import { largest, matrix } from "app/matrix.js";
import { fixed } from "app/numbers.js";
import { choice, select } from "app/parts.js";
import { spoken, tensorCode } from "app/python.js";
import { scaleBar } from "app/scale.js";
import { difference } from "app/what-if/answers.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/what-if/answers.js").Answers} Answers */

/** @param {Explorer} explorer @param {Answers} data */
export function attentionDifference(explorer, data) {
  const { attention } = data;
  if (!attention) return null;
  const { name, layers, heads, layer, head } = attention;
  const layerList = Array.from({ length: layers }, (_, own) => /** @type {[number, string]} */ ([own, explorer.t("layer.one", { layer: own + 1, of: layers })]));
  const headList = /** @type {[number, string][]} */ ([[-1, explorer.t("head.mean")], ...Array.from({ length: heads }, (_, own) => [own, explorer.headWords(own)])]);
  const kinds = /** @type {[string, string][]} */ (kindsOf(explorer.model).map((kind) => [kind, explorer.t(`kind.${kind}`)]));
  return h("section", { "aria-labelledby": "what-if-attention" },
    h("h2", { id: "what-if-attention" }, explorer.t("what-if.attention-title")),
    h("div", { class: "row" },
      choice(explorer.t("what-if.field.attention"), kinds, kindOf(explorer.state.view, explorer.model), (view) => explorer.go({ view, l: -1, h: -1 })),
      select(explorer.t("what-if.field.layer"), layerList, layer, (l) => explorer.go({ l: Number(l) })),
      select(explorer.t("what-if.field.head"), headList, head, (own) => explorer.go({ h: Number(own) }))),
    h("p", { class: "quiet" }, h("code", null, tensorCode(spoken(name, head), head < 0 ? "" : `head=${head}`, "a"))),
    attention.b ? three(explorer, data, attention, attention.b) : h("p", null, explorer.t("what-if.other-shape")));
}

/**
 * @param {Explorer} explorer
 * @param {Answers} data
 * @param {import("app/what-if/answers.js").Attention} attention
 * @param {import("app/trace.js").Tensor} after
 */
function three(explorer, data, { name, a: before, masked, maskedAfter, head }, after) {
  const gap = difference(before, after);
  const limit = largest(gap.data);
  const both = (/** @type {number} */ row, /** @type {number} */ column) => masked(row, column) && maskedAfter(row, column);
  /** @param {string} letter @param {import("app/trace.js").Tensor} tensor @param {Partial<import("app/matrix.js").Options>} more */
  const one = (letter, tensor, more) => h("div", { class: "what-if-matrix" }, h("h3", null, explorer.t(`what-if.matrix.${letter}`)), matrix({
    tensor, label: `${explorer.t(`what-if.matrix.${letter}`)}: ${name}`, key: `what-if:matrix:${letter}`,
    rows: data.a.labels(name, "query"), columns: data.a.labels(name, "key"),
    rowAxis: explorer.t("matrix.asks"), columnAxis: explorer.t("matrix.looked"),
    maskWord: explorer.t("matrix.mask"), tableWord: explorer.t("matrix.table"),
    describe: (row, column) => [`A ${fixed(before.value(row, column))}`, `B ${fixed(after.value(row, column))}`],
    hover: (row, column) => {
      const place = `${head < 0 ? "" : `head=${head}, `}query=${row}, key=${column}`;
      const code = (letter === "D" ? ["b", "a"] : [letter.toLowerCase()]).map((own) => tensorCode(spoken(name, head), place, own)).join(" - ");
      explorer.about({ name, code, value: fixed(tensor.value(row, column)) });
    },
    ...more,
  }));
  const decoded = kindOf(explorer.state.view, explorer.model) !== "encoder";
  const start = /** @type {[number, number]} */ ([decoded ? explorer.row(before.shape[0]) : 0, 0]);
  return [
    limit === 0 ? h("p", { role: "status" }, explorer.t("what-if.no-difference")) : null,
    h("div", { class: "what-if-matrices" },
      one("A", before, { limit: 1, masked, start }), one("B", after, { limit: 1, masked: maskedAfter, start }),
      h("div", null, one("D", gap, { scale: "signed", limit, masked: both, start }), limit > 0 ? scaleBar(limit, 3, explorer.t("what-if.scale.less"), explorer.t("what-if.scale.more")) : null)),
  ];
}
