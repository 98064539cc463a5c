// The correlations as a table of coloured cells: its own text alternative, legible at any size.

import { card } from "./chart-card.js";
import { fill, h } from "../lib/dom.js";
import { short } from "../lib/format.js";
import { leading, leadingNote } from "./drawn-options.js";
import { errorBox } from "../lib/messages.js";

const DENSE = 12; // options; beyond, cells are small and the card takes the whole width
const ROOMY = 6;

const digits = (value) => value.toFixed(2).replace(/^-0.00$/, "0.00").replace("0.", ".").replace("-", "−");

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

const head = (scope, name) => h("th", { scope, title: name, "aria-label": name }, h("span", {}, short(name, innerWidth < 620 ? 12 : 20)));

export function correlationCard() {
  const note = h("p", { class: "note" });
  const place = h("div", {}, h("div", { class: "empty" }, h("p", {}, "Loading…")));
  const element = card("Correlations", note, place);
  return {
    element,
    update(estimates) {
      const drawn = leading(estimates);
      const options = drawn.map((k) => estimates.options[k]);
      const correlation = estimates.correlation ? drawn.map((i) => drawn.map((j) => estimates.correlation[i][j])) : [];
      const known = correlation.some((row, i) => row.some((value, j) => i !== j && value !== null));
      note.textContent = `Blue: they move together. Orange: they move apart, so one hedges the other. Hatched: not known yet.${leadingNote(drawn.length, estimates.options.length)}`;
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
              estimates.count.some((value) => value > 1)
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
