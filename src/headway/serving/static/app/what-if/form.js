// @ts-check
/** The changes of B as chips to remove, and a small form that adds one. */

import { h } from "app/dom.js";
import { select } from "app/parts.js";
import { add, attentionWords, headOff, pythonOf, wordsOf, written } from "app/what-if/edits.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Trace} Trace */
/** @typedef {import("app/what-if/edits.js").Changes} Changes */

const KINDS = ["head", "attention", "mask", "hidden", "prefix", "source", "replaced"];

/** What the reader is about to add; it outlives a new drawing of the page. */
const draft = { kind: "head", attention: "", head: 0, mask: "target_mask", piece: 0, prefix: "", source: "", name: "encoder.output", other: "" };

/** @param {Explorer} explorer @param {Changes} changes @param {Trace} a */
export function changesPanel(explorer, changes, a) {
  const chips = chipsOf(explorer, changes, a);
  return h("section", { class: "panel what-if-changes", "aria-labelledby": "what-if-changes" },
    h("h2", { id: "what-if-changes" }, explorer.t("what-if.changes")),
    chips.length
      ? h("ul", { class: "what-if-chips" }, chips.map((chip) => h("li", null, chip)))
      : h("p", { class: "quiet" }, explorer.t("what-if.none")),
    explorer.backend.interactive ? form(explorer, a) : null);
}

/** @param {Explorer} explorer @param {Changes} changes @param {Trace} a */
function chipsOf(explorer, { prefix, src2, edits }, a) {
  /** @param {string} key @param {string} words @param {string | null} code @param {Partial<import("app/address.js").State>} without */
  const chip = (key, words, code, without) => h("button", {
    type: "button", class: "chip what-if-chip", "data-key": `chip:${key}`, disabled: !explorer.backend.interactive,
    "aria-label": explorer.t("what-if.remove", { change: words }), onclick: () => explorer.go(without, { remember: true }),
  }, h("span", { class: "what-if-chip-words" }, h("span", null, words), code ? h("code", null, code) : null),
  h("span", { class: "chip-cross", "aria-hidden": "true" }, "×"));
  return [
    prefix ? chip("prefix", explorer.t("what-if.chip.prefix", { prefix }), null, { prefix: "" }) : null,
    src2 ? chip("source", explorer.t("what-if.chip.source", { source: src2 }), null, { src2: "" }) : null,
    ...edits.map((edit, place) => chip(`edit:${place}`, wordsOf(explorer, edit, a.sentence.source_pieces), `${edit.name}: ${pythonOf(edit)}`,
      { edits: written(edits.filter((_, other) => other !== place)) })),
  ].filter((own) => own !== null);
}

/** @param {Explorer} explorer @param {Trace} a */
function form(explorer, a) {
  const fields = h("span", { class: "what-if-fields" });
  const fill = () => fields.replaceChildren(...fieldsOf(explorer, a, fill));
  const kinds = /** @type {[string, string][]} */ (KINDS.map((kind) => [kind, explorer.t(`what-if.kind.${kind}`)]));
  fill();
  return h("form", {
    class: "what-if-form",
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      submit(explorer);
    },
  },
  select(explorer.t("what-if.kind"), kinds, draft.kind, (kind) => {
    draft.kind = kind;
    fill();
  }),
  fields,
  h("button", { type: "submit", class: "primary", "data-key": "what-if:add" }, explorer.t("what-if.add")));
}

/** @param {Explorer} explorer @param {Trace} a @param {() => void} again */
function fieldsOf(explorer, a, again) {
  const { attention } = explorer.model;
  const chosen = attention.find((/** @type {any} */ own) => own.name === draft.attention) ?? attention[attention.length - 1];
  draft.attention = chosen.name;
  const which = select(explorer.t("what-if.field.attention"), attention.map((/** @type {any} */ own) => [own.name, attentionWords(explorer, own.name)]), draft.attention, (name) => {
    draft.attention = name;
    again();
  });
  switch (draft.kind) {
    case "head": {
      draft.head = Math.min(draft.head, chosen.heads - 1);
      const heads = Array.from({ length: chosen.heads }, (_, head) => /** @type {[number, string]} */ ([head, explorer.headWords(head)]));
      return [which, select(explorer.t("what-if.field.off"), heads, draft.head, (head) => { draft.head = Number(head); })];
    }
    case "attention": return [which];
    case "mask": {
      const masks = ["target_mask", "source_mask"].map((mask) => /** @type {[string, string]} */ ([mask, explorer.t(`what-if.field.${mask}`)]));
      return [select(explorer.t("what-if.field.mask"), masks, draft.mask, (mask) => { draft.mask = mask; })];
    }
    case "hidden": {
      const pieces = a.sentence.source_pieces.map((piece, place) => /** @type {[number, string]} */ ([place, `${place}: ${piece}`]));
      draft.piece = Math.min(draft.piece, pieces.length - 1);
      return [select(explorer.t("what-if.field.piece"), pieces, draft.piece, (piece) => { draft.piece = Number(piece); })];
    }
    case "prefix": return [text(explorer, "prefix")];
    case "source": return [text(explorer, "source")];
    default: {
      const names = [...a.tensors.values()].filter((own) => !own.derived && own.type === "float32").map(({ name }) => /** @type {[string, string]} */ ([name, name]));
      return [select(explorer.t("what-if.field.tensor"), names, draft.name, (name) => { draft.name = name; }), text(explorer, "other")];
    }
  }
}

/** @param {Explorer} explorer @param {"prefix" | "source" | "other"} field */
function text(explorer, field) {
  return h("label", { class: "field what-if-text-field" }, h("span", null, explorer.t(`what-if.field.${field}`)),
    h("input", {
      type: "text", value: draft[field], required: true, autocomplete: "off", spellcheck: "false",
      "data-key": `what-if:${field}`,
      oninput: (/** @type {Event} */ event) => { draft[field] = /** @type {HTMLInputElement} */ (event.target).value; },
    }));
}

/** Change B by what the form says. @param {Explorer} explorer */
function submit(explorer) {
  const { kind, attention, head, mask, piece, name, other } = draft;
  const remember = { remember: true };
  if (kind === "prefix") explorer.go({ prefix: draft.prefix.trim(), links: "", gold: "" }, remember);
  else if (kind === "source") explorer.go({ src2: draft.source.trim() }, remember);
  else if (kind === "head") add(explorer, headOff(attention, head));
  else if (kind === "attention") add(explorer, { name: `${attention}.output`, kind: "zero" });
  else if (kind === "mask") add(explorer, { name: mask, kind: "allow" });
  else if (kind === "hidden") add(explorer, { name: "source_mask", kind: "forbid", where: { key: piece } });
  else if (other.trim()) add(explorer, { name, kind: "replace", src: other.trim() });
}

/** Return the cross-attention of the last layer. @param {Explorer} explorer */
export function lastCross(explorer) {
  return explorer.model.attention.filter((/** @type {any} */ own) => own.kind === "cross").at(-1);
}

/**
 * Return three changes to begin with, where nothing is changed yet; the first two change most translations.
 * @param {Explorer} explorer
 * @param {Trace} a
 * @param {number} attended   the source token with most attention
 */
export function examples(explorer, a, attended) {
  /** @type {[string, import("app/what-if/edits.js").OwnEdit][]} */
  const three = [
    ["hidden", { name: "source_mask", kind: "forbid", where: { key: attended } }],
    ["attention", { name: `${lastCross(explorer).name}.output`, kind: "zero" }],
    ["future", { name: "target_mask", kind: "allow" }],
  ];
  return h("section", { "aria-labelledby": "what-if-examples" },
    h("h2", { id: "what-if-examples" }, explorer.t("what-if.examples")),
    h("div", { class: "columns what-if-examples" }, three.map(([id, edit]) => h("button", {
      type: "button", class: "what-if-example", "data-key": `example:${id}`, onclick: () => add(explorer, edit),
    },
    h("strong", null, wordsOf(explorer, edit, a.sentence.source_pieces)),
    h("span", { class: "quiet" }, explorer.t(`what-if.example.${id}`)),
    h("code", null, `${edit.name}: ${pythonOf(edit)}`)))));
}
