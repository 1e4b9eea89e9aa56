// @ts-check
/** Cross-attention as a word alignment: what is read, its matrix, its links, and files of them. */

import { has, parse, pharaoh, toggled } from "app/alignment/links.js";
import { linkPicture } from "app/alignment/picture.js";
import { reading } from "app/alignment/answers.js";
import { h } from "app/dom.js";
import { matrix } from "app/matrix.js";
import { fixed } from "app/numbers.js";
import { choice, select } from "app/parts.js";
import { spoken, tensorCode } from "app/python.js";
import { Tensor } from "app/trace.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/alignment/answers.js").Answers} Answers */
/** @typedef {import("app/alignment/answers.js").Aligned} Aligned */

/** Where the keyboard is in the matrix, while the page is drawn anew. @type {[number, number]} */
let walked = [0, 0];

/** Return the choice of layer, head and step, and say which it is and why. @param {Explorer} explorer @param {Aligned} aligned */
export function where(explorer, aligned) {
  const { layer, head, reads, layers, heads } = reading(explorer);
  const other = { links: "" };
  const layerList = /** @type {[number, string][]} */ ([[-1, explorer.t("alignment.layer.default")],
    ...Array.from({ length: layers }, (_, own) => [own, explorer.t("layer.one", { layer: own + 1, of: layers })])]);
  const headList = /** @type {[number, string][]} */ ([[-1, explorer.t("head.mean")],
    ...Array.from({ length: heads }, (_, own) => [own, explorer.headWords(own)])]);
  const moments = /** @type {[string, string][]} */ ([["", explorer.t("alignment.moment.written")], ["reads", explorer.t("alignment.moment.read")]]);
  const isDefault = layer === null && head === null && !reads;
  const words = explorer.t("alignment.which", {
    layer: explorer.t("layer.one", { layer: (layer ?? layers - 1) + 1, of: layers }),
    head: explorer.headWords(head ?? -1),
    moment: explorer.t(reads ? "alignment.moment.read" : "alignment.moment.written"),
  });
  return h("div", null,
    h("div", { class: "row" },
      select(explorer.t("alignment.layer"), layerList, layer ?? -1, (l) => explorer.go({ l: Number(l), ...other })),
      select(explorer.t("alignment.head"), headList, head ?? -1, (own) => explorer.go({ h: Number(own), ...other })),
      h("div", { class: "field" }, h("span", null, explorer.t("alignment.moment")),
        choice(explorer.t("alignment.moment"), moments, reads ? "reads" : "", (show) => explorer.go({ show, ...other })))),
    h("p", { class: "alignment-which", role: "status" }, h("strong", null, words), " ",
      explorer.t(!isDefault ? "alignment.why.chosen" : explorer.backend.interactive ? "alignment.why.default" : "alignment.why.static"), " ",
      h("code", null, tensorCode(spoken(aligned.name, head ?? -1), head === null ? "" : `head=${head}`))));
}

/** @param {Explorer} explorer @param {Answers} data */
export function wordAlignment(explorer, data) {
  const aligned = /** @type {Aligned} */ (data.aligned);
  const { source_words: sources, target_words: targets } = aligned;
  const gold = explorer.state.gold ? parse(explorer.state.gold, sources.length, targets.length) : undefined;
  return [
    h("div", { class: "alignment-desk" },
      h("div", { class: "panel" },
        h("h2", null, explorer.t("alignment.matrix")), h("p", { class: "quiet" }, explorer.t("alignment.matrix.words")),
        cells(explorer, data, aligned, gold)),
      h("div", { class: "panel" },
        h("h2", null, explorer.t("alignment.links")),
        h("p", { class: "quiet" }, explorer.t(data.areOwn ? "alignment.links.own" : "alignment.links.largest")),
        data.links.length || sources.length ? linkPicture(explorer.t("alignment.links"), sources, targets, data.links, gold) : null,
        gold ? h("p", { class: "quiet alignment-legend" }, h("span", { class: "alignment-dash", "aria-hidden": "true" }), explorer.t("alignment.links.gold")) : null,
        data.areOwn ? h("button", { type: "button", "data-key": "alignment:undo", onclick: () => explorer.go({ links: "" }) }, explorer.t("alignment.undo")) : null,
        files(explorer, data, aligned))),
  ];
}

/**
 * @param {Explorer} explorer
 * @param {Answers} data
 * @param {Aligned} aligned
 * @param {ReturnType<typeof parse> | undefined} gold
 */
function cells(explorer, { links }, aligned, gold) {
  const { source_words: sources, target_words: targets } = aligned;
  const { head } = reading(explorer);
  const tensor = new Tensor(aligned.name, [targets.length, sources.length], ["target", "source"], Float32Array.from(aligned.matrix.flat()));
  const say = (/** @type {number} */ row, /** @type {number} */ column) => [
    has(links, [column, row]) ? explorer.t("alignment.linked") : explorer.t("alignment.not-linked"),
    ...(gold && has(gold.sure, [column, row]) ? [explorer.t("alignment.sure")] : []),
    ...(gold && has(gold.possible, [column, row]) ? [explorer.t("alignment.possible")] : []),
  ];
  return matrix({
    tensor, label: explorer.t("alignment.matrix"), key: "alignment:matrix", limit: 1, cell: 40, write: (value) => fixed(value, 2),
    rows: targets, columns: sources, rowAxis: explorer.t("alignment.target"), columnAxis: explorer.t("alignment.source"),
    marked: links.map(([source, target]) => /** @type {[number, number]} */ ([target, source])), start: walked,
    describe: say, tableWord: explorer.t("matrix.table"),
    hover: (row, column) => explorer.about({
      name: aligned.name, code: spoken(aligned.name, head ?? -1) + (head === null ? "" : `  [head=${head}]`),
      value: fixed(tensor.value(row, column)), words: explorer.t("alignment.cell", { target: targets[row], source: sources[column] }),
    }),
    choose: (row, column) => {
      walked = [row, column];
      explorer.go({ links: pharaoh(toggled(links, [column, row])) || "none" });
    },
  });
}

/** Return the alignment as texts to take along. @param {Explorer} explorer @param {Answers} data @param {Aligned} aligned */
function files(explorer, { links, trace }, aligned) {
  const line = pharaoh(links);
  const json = JSON.stringify({
    source: trace.sentence.source, target: trace.sentence.target, source_words: aligned.source_words, target_words: aligned.target_words,
    links: links.map(([source, target]) => [source, target]), pharaoh: line, weights: { name: aligned.name, ...reading(explorer), matrix: aligned.matrix },
  }, (key, value) => (key === "layers" || key === "heads" ? undefined : value), 1);
  const said = h("span", { role: "status", class: "quiet" });
  /** @param {string} text */
  const copy = async (text) => {
    await navigator.clipboard.writeText(text);
    said.textContent = explorer.t("frame.copied");
  };
  const field = /** @type {HTMLInputElement} */ (h("input", {
    type: "text", readonly: true, value: line, class: "alignment-pharaoh", "data-key": "alignment:pharaoh", "aria-label": explorer.t("alignment.pharaoh"),
    onfocus: () => field.select(),
  }));
  return h("div", { class: "alignment-files" },
    h("h3", null, explorer.t("alignment.pharaoh")),
    h("p", { class: "quiet" }, explorer.t("alignment.pharaoh.words")),
    h("div", { class: "row" }, field,
      h("button", { type: "button", "data-key": "alignment:copy", onclick: () => copy(line) }, explorer.t("alignment.copy")),
      h("button", { type: "button", "data-key": "alignment:copy-json", onclick: () => copy(json) }, explorer.t("alignment.copy-json")),
      h("a", { href: `data:application/json;charset=utf-8,${encodeURIComponent(json)}`, download: "alignment.json", "data-key": "alignment:json" }, explorer.t("alignment.json")),
      said));
}
