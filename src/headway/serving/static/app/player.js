// @ts-check
/** Going through the steps: first, back, play, on, last; one player for the page. */

import { h, s } from "app/dom.js";
import { select } from "app/parts.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

const SPEEDS = [0.5, 1, 2, 4];
const SECONDS = 1.2; // a step at speed 1

/** What plays: nothing, while `timer` is 0. The page is drawn anew at each step, this stays. */
const playing = { timer: 0, speed: 1, t: 0, encoding: false, question: "", redraw: () => {} };

/** Tell whether the steps go by themselves now. */
export function isPlaying() {
  return playing.timer !== 0;
}

/** Tell whether the one run of the encoder is being shown. */
export function isEncoding() {
  return isPlaying() && playing.encoding;
}

/** Stop. */
export function stop() {
  clearTimeout(playing.timer);
  playing.timer = 0;
  playing.encoding = false;
}

/** @param {Explorer} explorer */
function questionOf(explorer) {
  return JSON.stringify([explorer.state.screen, explorer.request(), explorer.state.target]);
}

/** @param {Explorer} explorer @param {number} rows */
function play(explorer, rows) {
  const t = explorer.row(rows);
  // From the beginning, the encoder has its turn before the decoder's first step.
  playing.encoding = t === 0 || t === rows - 1;
  playing.t = t === rows - 1 ? 0 : t;
  playing.question = questionOf(explorer);
  wait(explorer, rows);
  if (explorer.row(rows) === playing.t) playing.redraw();
  else explorer.go({ t: playing.t });
}

/** @param {Explorer} explorer @param {number} rows */
function wait(explorer, rows) {
  clearTimeout(playing.timer);
  playing.timer = window.setTimeout(() => tick(explorer, rows), (1000 * SECONDS) / playing.speed);
}

/** @param {Explorer} explorer @param {number} rows */
function tick(explorer, rows) {
  const isLeft = playing.question !== questionOf(explorer) || explorer.row(rows) !== playing.t;
  const isOver = !playing.encoding && playing.t >= rows - 1;
  if (isLeft || isOver) {
    stop();
    if (!isLeft) playing.redraw();
    return;
  }
  if (playing.encoding) {
    playing.encoding = false;
    wait(explorer, rows);
    playing.redraw();
    return;
  }
  playing.t += 1;
  wait(explorer, rows);
  explorer.go({ t: playing.t });
}

/**
 * Return the buttons, the slider and the speed.
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {() => void} redraw   draws the screen again, where the state is the same
 */
export function transport(explorer, trace, redraw) {
  const rows = trace.rows.length;
  const t = explorer.row(rows);
  playing.redraw = redraw; // that of the page as it is now, not as it was when it began to play
  const go = (/** @type {number} */ row) => {
    stop();
    if (row === t) redraw();
    else explorer.go({ t: row });
  };
  const button = (/** @type {string} */ name, /** @type {() => void} */ onclick, isOff = false) =>
    h("button", {
      type: "button", class: `transport-button transport-${name}`, "data-key": `transport:${name === "stop" ? "play" : name}`, onclick,
      "aria-disabled": isOff ? "true" : null, "aria-label": explorer.t(`translate.${name}`), title: explorer.t(`translate.${name}`),
    }, icon(name));
  const [atStart, atEnd] = [t === 0, t === rows - 1];
  return h("div", { class: "transport", role: "group", "aria-label": explorer.t("translate.transport") },
    h("div", { class: "transport-buttons" },
      button("first", () => go(0), atStart),
      button("back", () => go(Math.max(0, t - 1)), atStart),
      isPlaying()
        ? button("stop", () => { stop(); redraw(); })
        : button("play", () => play(explorer, rows)),
      button("on", () => go(Math.min(rows - 1, t + 1)), atEnd),
      button("last", () => go(rows - 1), atEnd)),
    stepSlider(explorer, trace, t, go),
    select(explorer.t("translate.speed"), SPEEDS.map((speed) => [speed, `${speed}×`]), playing.speed, (speed) => {
      playing.speed = Number(speed);
    }));
}

/** @type {Record<string, string>} */
const ICONS = {
  first: "M4 3h2v10H4zM13 3v10L6.5 8z",
  back: "M11 3v10L4.5 8z",
  play: "M4.5 2.5v11L13 8z",
  stop: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3v10l6.5-5z",
  last: "M10 3h2v10h-2zM3 3v10l6.5-5z",
};

/** @param {string} name */
function icon(name) {
  return s("svg", { viewBox: "0 0 16 16", width: 18, height: 18, "aria-hidden": "true" }, s("path", { d: ICONS[name], fill: "currentColor" }));
}

/**
 * Return the slider of steps. While it is dragged only its words follow: the page that is drawn anew
 * would take it out of the reader's hand.
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {number} t
 * @param {(row: number) => void} go
 */
function stepSlider(explorer, trace, t, go) {
  const words = (/** @type {number} */ row) => explorer.t("translate.step", {
    step: row + 1, of: trace.rows.length, reads: trace.rows[row].reads, writes: trace.rows[row].writes,
  });
  const said = h("span", null, words(t));
  const value = (/** @type {Event} */ event) => Number(/** @type {HTMLInputElement} */ (event.target).value);
  return h("label", { class: "field slider step-slider" }, said,
    h("input", {
      type: "range", min: 0, max: trace.rows.length - 1, step: 1, value: t, "data-key": "transport:step", "aria-valuetext": words(t),
      oninput: (/** @type {Event} */ event) => { said.textContent = words(value(event)); },
      onchange: (/** @type {Event} */ event) => go(value(event)),
    }));
}
