// @ts-check
/** Both runs over A's translation: how probable each piece still is, and which tensors moved. */

import { h, s } from "app/dom.js";
import { fixed, percent } from "app/numbers.js";
import { isSameSource } from "app/what-if/answers.js";
import { isOnlyPrefix } from "app/what-if/edits.js";
import { refusal } from "app/what-if/columns.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/what-if/answers.js").Answers} Answers */
/** @typedef {{reads: string, writes: string, before: number, after: number}} Row */

const STEP = 74; // pixels from one step to the next, at least
const [WIDE, WIDEST] = [1000, 130]; // a short sentence takes as much of the window as this
const HEIGHT = 190;
const [LEFT, TOP, BOTTOM] = [46, 14, 44];

/** @param {Explorer} explorer @param {Answers} data */
export function forced(explorer, data) {
  const { a, b, comparison, changes } = data;
  const heading = [
    h("h2", { id: "what-if-forced" }, explorer.t("what-if.forced")),
    h("p", { class: "quiet" }, explorer.t("what-if.forced.words")),
  ];
  const after = b.value;
  if (isOnlyPrefix(changes) || !after) {
    return h("section", { "aria-labelledby": "what-if-forced" }, heading, after ? h("p", null, explorer.t("what-if.only-prefix")) : refusal(explorer, b.error));
  }
  const rows = a.rows.map((row, place) => ({ reads: row.reads, writes: row.writes, before: row.probability, after: after.rows[place].probability }));
  return h("section", { "aria-labelledby": "what-if-forced" }, heading,
    h("p", { class: "what-if-verdict", role: "status" }, most(explorer, rows, after)),
    h("div", { class: "panel" },
      h("h3", null, explorer.t("what-if.chart")), legend(explorer),
      h("div", { class: "scroll what-if-chart", tabindex: "0", role: "group", "aria-label": explorer.t("what-if.chart") }, chart(explorer, rows))),
    h("div", { class: "what-if-tables" },
      h("div", { class: "panel" }, h("h3", null, explorer.t("what-if.table")), table(explorer, rows)),
      h("div", { class: "panel" }, h("h3", null, explorer.t("what-if.moved")), isSameSource(a, after) ? moved(explorer, comparison) : h("p", null, explorer.t("what-if.other-pieces")))));
}

/**
 * Say what changes most, and what is the most probable piece there if it is another one now.
 * @param {Explorer} explorer @param {Row[]} rows @param {import("app/trace.js").Trace} after
 */
function most(explorer, rows, after) {
  const change = (/** @type {Row} */ { before, after }) => Math.abs(after - before);
  const row = rows.reduce((one, other) => (change(other) > change(one) ? other : one));
  if (change(row) === 0) return explorer.t("what-if.same-probabilities");
  const place = rows.indexOf(row);
  const [best, share] = after.rows[place].best[0];
  const said = explorer.t("what-if.most", { step: place + 1, piece: row.writes, before: fixed(row.before), after: fixed(row.after) });
  return best === row.writes ? said : `${said} ${explorer.t("what-if.most.best", { piece: best, p: fixed(share) })}`;
}

/** @param {Explorer} explorer */
function legend(explorer) {
  return h("p", { class: "what-if-legend" }, ["A", "B"].map((letter) => h("span", null,
    s("svg", { width: 34, height: 12, "aria-hidden": "true" },
      s("line", { x1: 0, x2: 34, y1: 6, y2: 6, class: `what-if-line what-if-line-${letter}` }), mark(letter, 17, 6)),
    explorer.t(`what-if.legend.${letter}`))));
}

/** @param {string} letter @param {number} x @param {number} y */
function mark(letter, x, y) {
  return letter === "A" ? s("circle", { cx: x, cy: y, r: 4, class: "what-if-mark-A" })
    : s("rect", { x: x - 4, y: y - 4, width: 8, height: 8, class: "what-if-mark-B" });
}

/** @param {Explorer} explorer @param {Row[]} rows */
function chart(explorer, rows) {
  const room = Math.min(WIDE, innerWidth - 120) - LEFT;
  const step = Math.max(STEP, Math.min(WIDEST, room / rows.length));
  const width = LEFT + rows.length * step + 8;
  const x = (/** @type {number} */ row) => LEFT + (row + 0.5) * step;
  const y = (/** @type {number} */ share) => TOP + (1 - share) * HEIGHT;
  const chosen = explorer.row(rows.length);
  /** @param {string} letter @param {(row: Row) => number} share */
  const line = (letter, share) => [
    s("polyline", { class: `what-if-line what-if-line-${letter}`, points: rows.map((row, place) => `${x(place)},${y(share(row))}`).join(" ") }),
    rows.map((row, place) => mark(letter, x(place), y(share(row)))),
  ];
  return s("svg", { width, height: TOP + HEIGHT + BOTTOM, role: "img", "aria-label": explorer.t("what-if.chart.label") },
    s("rect", { x: LEFT + chosen * step, y: TOP - 8, width: step, height: HEIGHT + 16, rx: 6, class: "what-if-chosen" }),
    [0, 0.25, 0.5, 0.75, 1].map((share) => [
      s("line", { x1: LEFT, x2: width - 8, y1: y(share), y2: y(share), class: "what-if-grid" }),
      s("text", { x: LEFT - 8, y: y(share) + 4, "text-anchor": "end", class: "what-if-tick" }, `${100 * share} %`)]),
    line("A", (row) => row.before), line("B", (row) => row.after),
    rows.map((row, place) => s("g", { class: place === chosen ? "what-if-step chosen" : "what-if-step" },
      s("text", { x: x(place), y: TOP + HEIGHT + 22, "text-anchor": "middle" }, short(row.writes)),
      s("text", { x: x(place), y: TOP + HEIGHT + 38, "text-anchor": "middle", class: "what-if-tick" }, String(place + 1)),
      s("rect", { x: LEFT + place * step, y: 0, width: step, height: TOP + HEIGHT + BOTTOM, class: "what-if-target", onclick: () => explorer.go({ t: place }) },
        s("title", null, `${row.reads} → ${row.writes}\nA ${percent(row.before)}\nB ${percent(row.after)}`)))));
}

/** @param {string} piece */
function short(piece) {
  return [...piece].length > 8 ? `${[...piece].slice(0, 7).join("")}…` : piece;
}

/** @param {Explorer} explorer @param {Row[]} rows */
function table(explorer, rows) {
  const chosen = explorer.row(rows.length);
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("what-if.table") }, h("table", { class: "what-if-table" },
    h("thead", null, h("tr", null, ["step", "row", "before", "after", "change"].map((column) => h("th", { scope: "col" }, explorer.t(`what-if.column.${column}`))))),
    h("tbody", null, rows.map(({ reads, writes, before, after }, place) => h("tr", { class: place === chosen ? "chosen" : null },
      h("td", null, place + 1),
      h("th", { scope: "row" }, h("button", {
        type: "button", class: "what-if-row", "data-key": `what-if:row:${place}`, "aria-pressed": String(place === chosen), onclick: () => explorer.go({ t: place }),
      }, `${reads} → ${writes}`)),
      h("td", { class: "what-if-before" }, fixed(before)), h("td", { class: "what-if-after" }, fixed(after)),
      h("td", null, signed(after - before)))))));
}

/** Return a change with its sign. @param {number} value @param {number} [places] */
export function signed(value, places = 4) {
  const text = fixed(value, places);
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** @param {Explorer} explorer @param {Answers["comparison"]} comparison */
function moved(explorer, comparison) {
  if (!comparison?.value) return comparison?.error ? refusal(explorer, comparison.error) : h("p", { class: "quiet" }, explorer.t("what-if.nothing-moved"));
  const list = comparison.value.moved;
  if (list.length === 0) return h("p", { class: "quiet" }, explorer.t("what-if.nothing-moved"));
  return [
    h("p", { class: "quiet" }, explorer.t("what-if.moved.words")),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("what-if.moved") }, h("table", { class: "what-if-moved" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, explorer.t("what-if.column.tensor")), h("th", { scope: "col" }, explorer.t("what-if.column.relative")))),
      h("tbody", null, list.map((/** @type {{name: string, relative: number | null}} */ { name, relative }) => {
        const value = fixed(relative ?? Infinity, 3);
        const tell = () => explorer.about({ name, code: name, value });
        return h("tr", { onpointerenter: tell },
          h("th", { scope: "row" }, h("a", { href: explorer.address({ screen: "tensors", tab: "", show: "", at: "", name }), "data-key": `moved:${name}`, onfocus: tell }, h("code", null, name))),
          h("td", null, value));
      }))))];
}
