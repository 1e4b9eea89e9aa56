// @ts-check
/** One step of the decoder: what it reads and writes, what else it could have written, and why not. */

import { h } from "app/dom.js";
import { count, fixed, percent } from "app/numbers.js";
import { bar } from "app/parts.js";
import { bestBelow, expansionOf, isSpecial, pathOf, textOf } from "app/record.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/translate-stage.js").Seen} Seen
 */

/** Return the panel of the row that is chosen. @param {Explorer} explorer @param {Seen} seen */
export function rowPanel(explorer, seen) {
  const { trace } = seen;
  const t = explorer.row(trace.rows.length);
  const row = trace.rows[t];
  return h("section", { class: "panel step-panel", "aria-labelledby": "step-title" },
    h("h2", { id: "step-title" }, explorer.t("translate.row.title", { step: t + 1 })),
    h("p", { class: "reads-writes" },
      h("span", { class: "quiet" }, explorer.t("translate.row.reads")), h("span", { class: "piece" }, row.reads),
      h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      h("span", { class: "quiet" }, explorer.t("translate.row.writes")), h("span", { class: "piece chosen" }, row.writes)),
    h("p", { class: "why", "data-why": reasonOf(explorer, seen, t)[0] }, ...words(explorer, reasonOf(explorer, seen, t))),
    candidates(explorer, seen, t),
    explorer.backend.interactive ? h("p", { class: "quiet small" }, explorer.t("translate.best.hint")) : null,
    h("dl", { class: "facts" },
      h("dt", null, explorer.t("translate.row.p")), h("dd", { class: "number" }, fixed(row.probability, 6)),
      h("dt", null, explorer.t("translate.row.entropy")),
      h("dd", { class: "number" }, explorer.t("translate.row.entropy.value", { nats: fixed(row.entropy, 3), choices: fixed(Math.exp(row.entropy), 2) }))));
}

/** @param {Explorer} explorer @param {Reason} reason */
function words(explorer, [key, values]) {
  return [explorer.t(`translate.why.${key}`, values)];
}

/** @param {Explorer} explorer @param {Seen} seen @param {number} t */
function candidates(explorer, { trace }, t) {
  const row = trace.rows[t];
  const { sizes } = explorer.model;
  const isListed = row.best.some(([piece]) => piece === row.writes);
  const listed = isListed ? row.best : [...row.best, /** @type {[string, number]} */ ([row.writes, row.probability])];
  const others = isListed ? row.others : Math.max(0, row.others - row.probability);
  const many = sizes.target_vocab_size - listed.length;
  let sum = 0;
  return h("div", { class: "candidates", role: "group", "aria-label": explorer.t("translate.best") },
    h("div", { class: "candidates-head", "aria-hidden": "true" },
      h("span", null, explorer.t("translate.best.piece")), h("span", null), h("span", null, "p"), h("span", null, explorer.t("translate.best.sum"))),
    listed.map(([piece, p], place) => {
      sum += p;
      return candidate(explorer, trace, t, { piece, p, sum: place < row.best.length ? sum : null });
    }),
    h("div", { class: "candidate is-other" },
      bar(explorer.t("translate.best.others", { many: count(many) }), others, { kind: "other" }),
      h("span", { class: "bar-sum number" }, percent(1))));
}

/**
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {number} t
 * @param {{piece: string, p: number, sum: number | null}} one
 */
function candidate(explorer, trace, t, { piece, p, sum }) {
  const prefix = textOf([...trace.sentence.writes.slice(0, t), piece]);
  const isChosen = piece === trace.rows[t].writes;
  const canForce = explorer.backend.interactive && !isSpecial(piece) && prefix !== "";
  const said = sum === null ? "–" : percent(sum);
  const element = h("div", {
    class: "candidate", "data-piece": piece, "data-p": p, "data-chosen": String(isChosen),
    onpointerenter: () => explorer.about({ name: "probabilities", place: `target=${t}, vocabulary=${JSON.stringify(piece)}`, value: fixed(p, 6) }),
  },
  bar([isChosen ? h("span", { class: "mark", "aria-hidden": "true" }, "✓ ") : null, piece], p, {
    kind: isChosen ? "chosen" : "",
    key: `candidate:${piece}`,
    label: explorer.t(isChosen ? "translate.best.label.chosen" : "translate.best.label", { piece, p: percent(p), sum: said, prefix }),
    onclick: canForce ? () => explorer.go({ screen: "what-if", prefix, node: -1, links: "", gold: "", tab: "", show: "" }, { remember: true }) : undefined,
  }),
  h("span", { class: "bar-sum number", "aria-hidden": canForce ? "true" : null }, said));
  if (canForce) element.title = explorer.t("translate.best.force", { prefix });
  return element;
}

/** @typedef {[string, Record<string, string | number>]} Reason  the end of a text's key, with its values */

/**
 * Tell why the row writes what it writes.
 * @param {Explorer} explorer
 * @param {Seen} seen
 * @param {number} t
 * @returns {Reason}
 */
function reasonOf(explorer, { trace, record }, t) {
  const { writes, best } = trace.rows[t];
  const [[top, p]] = best;
  const values = { piece: writes, top, p: percent(p), beam: record.options.beam_size };
  if (explorer.state.target) return [writes === top ? "given.best" : "given", values];
  const node = pathOf(record, record.ranking[0])[t];
  const expansion = node?.piece === writes && node.parent !== null ? expansionOf(record, node.parent) : null;
  if (!expansion) return [writes === top ? "best" : "unknown", values];
  const rivals = expansion.candidates.filter((own) => own.node !== node.number);
  if (rivals.every(({ fate }) => fate === "forbidden")) {
    return [node.complete ? writes === top ? "forced.best" : "forced" : "limit", values];
  }
  if (record.options.sampling) return [writes === top ? "drawn.best" : "drawn", values];
  if (writes === top) return ["best", values];
  return rivalReason(record, rivals.find(({ piece }) => piece === top), values);
}

/**
 * Tell what became of the most probable piece, which was not taken.
 * @param {import("app/record.js").SearchRecord} record
 * @param {import("app/record.js").Candidate | undefined} rival
 * @param {Record<string, string | number>} values
 * @returns {Reason}
 */
function rivalReason(record, rival, values) {
  if (rival === undefined) return ["unknown", values];
  if (rival.fate === "forbidden") return ["forbidden", values];
  const own = fixed(record.nodes[record.ranking[0]].score, 3);
  if (rival.node === null) return ["pruned", { ...values, own, rank: rival.rank ?? "–" }];
  const leaf = bestBelow(record, rival.node);
  if (leaf === null) return ["died", { ...values, own }];
  return ["beam", { ...values, own, other: fixed(record.nodes[leaf].score, 3), text: textOf(pathOf(record, leaf).map(({ piece }) => piece ?? "")) }];
}
