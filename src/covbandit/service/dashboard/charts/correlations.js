// The correlations as a table of coloured cells: its own text alternative, legible at any size.

import { drawnOptions, drawnOptionsNote } from "./drawn-options.js";
import { card } from "../lib/card.js";
import { fill, h } from "../lib/dom.js";
import { short } from "../lib/format.js";
import { errorBox } from "../lib/messages.js";

/** @import { Estimates, Panel } from "../lib/types.d.ts" */

const DENSE = 12; // options; beyond, cells are small and the card takes the whole width
const ROOMY = 6;

/** @param {number} value */
const digits = (value) => value.toFixed(2).replace(/^-0.00$/, "0.00").replace("0.", ".").replace("-", "−");

/**
 * @param {number | null} value
 * @param {string} row its option
 * @param {string} column its option
 */
function cell(value, row, column) {
  if (value === null || !Number.isFinite(value)) {
    return h("td", { class: "unknown", title: `${row} and ${column}: not known` }, h("span", { class: "unseen" }, "not known"));
  }
  const strength = Math.min(1, Math.abs(value));
  return h(
    "td",
    {
      class: strength > 0.55 ? "strong" : null,
      title: `${row} and ${column}: ${value.toFixed(3)}`,
      style: { backgroundColor: `color-mix(in srgb, var(${value < 0 ? "--negative" : "--positive"}) ${Math.round(100 * strength)}%, var(--card))` },
    },
    digits(value),
  );
}

/**
 * @param {"row" | "col"} scope
 * @param {string} name
 */
const head = (scope, name) => h("th", { scope, title: name, "aria-label": name }, h("span", {}, short(name, innerWidth < 620 ? 12 : 20)));

/** @returns {Panel<Estimates>} */
export function correlationCard() {
  const note = h("p", { class: "note" });
  const place = h("div", {}, h("div", { class: "empty" }, h("p", {}, "Loading…")));
  const element = card("Correlations", note, place);
  return {
    element,
    update(estimates) {
      const drawn = drawnOptions(estimates);
      const options = drawn.map((k) => estimates.options[k]);
      const all = estimates.correlation;
      const correlation = all ? drawn.map((i) => drawn.map((j) => all[i][j])) : [];
      const known = correlation.some((row, i) => row.some((value, j) => i !== j && value !== null));
      note.textContent = `Blue: they move together. Orange: they move apart, so one hedges the other. Hatched: not known yet.${drawnOptionsNote(drawn.length, estimates.options.length)}`;
      note.hidden = !known;
      element.classList.toggle("whole", known && options.length > DENSE);
      if (!known) {
        fill(
          place,
          h(
            "div",
            { class: "empty" },
            h(
              "p",
              {},
              estimates.count.some((value) => value !== null && value > 1)
                ? "No pair of options has a known correlation (yet)."
                : "Nothing to compare yet. Correlations need a few told rounds.",
            ),
          ),
        );
        return;
      }
      fill(
        place,
        h(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Correlations of the options" },
          h(
            "table",
            { class: `heat${options.length > DENSE ? " dense" : options.length <= ROOMY ? " roomy" : ""}${options.every((name) => name.length <= 6) ? " level" : ""}` },
            h("caption", { class: "unseen" }, "Estimated correlation of each pair of options"),
            h(
              "thead",
              {},
              h("tr", {}, h("td", {}), options.map((name) => head("col", name))),
            ),
            h(
              "tbody",
              {},
              options.map((name, i) =>
                h(
                  "tr",
                  {},
                  head("row", name),
                  options.map((other, j) =>
                    i === j ? h("td", { class: "self" }, h("span", { class: "unseen" }, "itself")) : cell(correlation[i][j], name, other),
                  ),
                ),
              ),
            ),
          ),
        ),
        h(
          "div",
          { class: "scale", "aria-hidden": "true" },
          h("span", {}, "−1"),
          h("span", { class: "ramp" }),
          h("span", {}, "+1"),
        ),
      );
    },
    fail(error) {
      note.hidden = true;
      fill(place, errorBox(error));
    },
    destroy() {},
  };
}
