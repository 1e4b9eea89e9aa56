// @ts-check
/**
 * The changes of B: as the address holds them, as the program takes them, in words and in Python.
 *
 * An edit of the address is one of the program, except that a tensor "from another run" is named by
 * that run's source sentence (`src`): a link outlives the program's traces, whose ids it cannot keep.
 */

import { loadLine, quoted, searchOf } from "app/python.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/network.js").Edit & {src?: string}} OwnEdit */

/**
 * @typedef {object} Changes
 * @property {string} prefix
 * @property {string} src2     another source sentence; "" is the same one
 * @property {OwnEdit[]} edits
 */

const KINDS = ["zero", "replace", "allow", "forbid"];

/**
 * Return what B changes. What an address says wrongly is no edit.
 * @param {Explorer} explorer
 * @returns {Changes}
 */
export function changesOf({ state, sentence }) {
  return { prefix: state.prefix, src2: state.src2 === sentence ? "" : state.src2, edits: parse(state.edits) };
}

/** @param {string} text @returns {OwnEdit[]} */
function parse(text) {
  try {
    const found = JSON.parse(text || "[]");
    return Array.isArray(found) ? found.filter((edit) => edit && typeof edit.name === "string" && KINDS.includes(edit.kind)) : [];
  } catch {
    return [];
  }
}

/** Return edits as the address holds them. @param {OwnEdit[]} edits */
export function written(edits) {
  return edits.length ? JSON.stringify(edits) : "";
}

/** Tell whether anything is changed. @param {Changes} changes */
export function isChanged({ prefix, src2, edits }) {
  return prefix !== "" || src2 !== "" || edits.length > 0;
}

/** Tell whether B is the same model, and only its search begins otherwise. @param {Changes} changes */
export function isOnlyPrefix({ prefix, src2, edits }) {
  return prefix !== "" && src2 === "" && edits.length === 0;
}

/** Change B by one more edit; one that is there already is not there twice. @param {Explorer} explorer @param {OwnEdit} edit */
export function add(explorer, edit) {
  const { edits } = changesOf(explorer);
  const text = JSON.stringify(edit);
  if (edits.some((own) => JSON.stringify(own) === text)) return;
  explorer.go({ edits: written([...edits, edit]) }, { remember: true });
}

/** Switch a head off. @param {string} attention @param {number} head @returns {OwnEdit} */
export function headOff(attention, head) {
  return { name: `${attention}.heads`, kind: "zero", where: { head } };
}

/**
 * Return an attention in words: its kind and its layer.
 * @param {Explorer} explorer
 * @param {string} name   `decoder.layers.1.cross_attention`, or what begins with it
 * @returns {string | null}
 */
export function attentionWords(explorer, name) {
  const found = explorer.model.attention.find((/** @type {any} */ own) => name === own.name || name.startsWith(`${own.name}.`));
  if (!found) return null;
  return explorer.t("what-if.attention", { kind: explorer.t(`kind.${found.kind}`), layer: explorer.t("layer.one", { layer: found.layer + 1, of: found.of }) });
}

/**
 * Return an edit in words.
 * @param {Explorer} explorer
 * @param {OwnEdit} edit
 * @param {string[]} pieces   of the source
 */
export function wordsOf(explorer, edit, pieces) {
  const attention = attentionWords(explorer, edit.name) ?? edit.name;
  const { head, key } = edit.where ?? {};
  const isBare = Object.keys(edit.where ?? {}).length === 0;
  if (edit.kind === "zero" && edit.name.endsWith(".heads") && typeof head === "number") {
    return explorer.t("what-if.chip.head", { head: explorer.headWords(head), attention });
  }
  if (edit.kind === "zero" && isBare && /attention\.output$/.test(edit.name)) return explorer.t("what-if.chip.attention", { attention });
  if (edit.kind === "allow" && isBare && /^(source|target)_mask$/.test(edit.name)) return explorer.t(`what-if.chip.${edit.name}`);
  if (edit.kind === "forbid" && edit.name === "source_mask" && typeof key === "number") {
    return explorer.t("what-if.chip.hidden", { piece: pieces[key] ?? String(key) });
  }
  if (edit.kind === "replace" && edit.src) return explorer.t("what-if.chip.replaced", { name: edit.name, source: edit.src });
  return `${edit.name}: ${pythonOf(edit)}`;
}

/** Return an edit as Python writes it. @param {OwnEdit} edit @param {string} [other]   the name of another run */
export function pythonOf(edit, other = "other") {
  const places = Object.entries(edit.where ?? {}).map(([axis, place]) => `${axis}=${JSON.stringify(place)}`);
  const value = edit.kind !== "replace" ? []
    : [edit.src || edit.trace ? `${other}[${JSON.stringify(edit.name)}]` : String(edit.value ?? 0)];
  return `${edit.kind}(${[...value, ...places].join(", ")})`;
}

/** Return what A is asked for: everything but the changes. @param {Explorer} explorer */
export function originalBody(explorer) {
  const { prefix: _, sampling: __, max_length: ___, ...body } = explorer.request();
  return explorer.state.target ? { ...body, target: explorer.state.target } : body;
}

/**
 * Return a search with another source, which is not known to be one sentence.
 * @param {string} source
 * @param {Record<string, any>} body
 */
export function about(source, body) {
  const { split_sentences: _, ...rest } = body;
  return source === body.source ? body : { ...rest, source };
}

/**
 * Return edits as the program takes them: other runs are made first, and named by their ids.
 * The program may let these runs go, so that who asks with the edits needs them, too.
 * @param {Explorer} explorer
 * @param {OwnEdit[]} edits
 * @param {Record<string, any>} body   how the runs are searched
 * @returns {Promise<{edits: import("app/network.js").Edit[], others: import("app/trace.js").Trace[]}>}
 */
export async function resolved(explorer, edits, body) {
  /** @type {import("app/trace.js").Trace[]} */
  const others = [];
  const found = await Promise.all(edits.map(async ({ src, ...edit }) => {
    if (!src) return edit;
    const { target: _, ...rest } = body;
    const other = await explorer.traceOf(about(src, rest));
    others.push(other);
    return { ...edit, trace: other.id };
  }));
  return { edits: found, others };
}

/**
 * Return Python that does the same.
 * @param {Explorer} explorer
 * @param {Changes} changes
 */
export function pythonCode(explorer, { prefix, src2, edits }) {
  const { target } = explorer.state;
  const body = originalBody(explorer);
  const { imports, options } = searchOf(explorer, body);
  const others = [...new Set(edits.flatMap((edit) => (edit.src ? [edit.src] : [])))];
  const nameOf = (/** @type {string | undefined} */ other) => `other${others.indexOf(other ?? "") > 0 ? others.indexOf(other ?? "") + 1 : ""}`;
  /** @type {Map<string, string[]>} */
  const byName = new Map();
  for (const edit of edits) byName.set(edit.name, [...(byName.get(edit.name) ?? []), pythonOf(edit, nameOf(edit.src))]);
  const several = [...byName.values()].some((own) => own.length > 1);
  const kinds = [...new Set(edits.map((edit) => edit.kind)), ...(several ? ["then"] : [])].sort();
  const entries = [...byName].map(([name, own]) => `    ${quoted(name)}: ${own.length > 1 ? `then(${own.join(", ")})` : own[0]},`);
  const searched = edits.every(({ name }) => name !== "target_mask"); // no search has that
  const isAsked = searched || others.length > 0 || !target;
  return [
    "import headway",
    ...(isAsked ? imports : []),
    src2 ? null : "from headway.inspection.comparing import compare",
    kinds.length ? `from headway.inspection.edit import ${kinds.join(", ")}` : null,
    searched ? "from headway.inspection.edited_search import search_edited" : null,
    src2 ? "from headway.inspection.steps import target_rows" : null,
    "",
    loadLine(explorer),
    `source = ${quoted(src2 || body.source)}`,
    ...others.map((other) => `${nameOf(other)} = translator.trace(${quoted(other)}${options})`),
    ...(entries.length ? ["edits = {", ...entries, "}"] : ["edits = {}"]),
    `a = translator.trace(${src2 ? quoted(body.source) : "source"}${target ? `, ${quoted(target)}` : options})`,
    "b = translator.trace(source, a.sentence.writes[:-1], edit=edits)",
    src2 ? "print([(row.writes, row.probability) for row in target_rows(b)])" : `print(compare(a, b).sentence(${quoted(explorer.language)}))`,
    ...(searched ? [
      `record = search_edited(translator, source, edits${options}${prefix ? `, prefix=${quoted(prefix)}` : ""})`,
      "print(record.translation.text)"] : []),
  ].filter((line) => line !== null).join("\n");
}
