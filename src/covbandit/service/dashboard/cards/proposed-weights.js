// The weights proposed now: a bar, the reason in words, and the figures behind it, one row per option.

import { weightFacts, weightReasons } from "./weight-reasons.js";
import { card } from "../lib/card.js";
import { fill, h } from "../lib/dom.js";
import { count, number, percent, plural } from "../lib/format.js";
import { errorBox } from "../lib/messages.js";

/** @import { Child, ColourOf, Estimates, Explanation, Panel, Properties, Summary } from "../lib/types.d.ts" */
/** @import { OptionFacts } from "./weight-reasons.js" */

/** @typedef {{summary: Summary, explanation: Explanation, estimates: Estimates}} Proposal */

const MANY = 6; // more options without weight than this are folded away

/** @type {{text: string, class?: string, title?: string}[]} */
const HEADS = [
  { text: "Option" },
  { text: "Weight", class: "wide" },
  { text: "Why", class: "why" },
  { text: "To mean", class: "number", title: "Weight times estimated mean" },
  { text: "To risk", class: "number", title: "Part of the mix's variance; a negative one hedges" },
  { text: "Seen", class: "number", title: "How often its outcome was seen" },
  { text: "± Width", class: "number", title: "How far off its estimated mean may be" },
];

// Roles are said again because a narrow page lays rows out as blocks, which would take them away.
/**
 * @param {Properties} properties
 * @param {...Child} cells
 */
const row = (properties, ...cells) => h("tr", { role: "row", ...properties }, ...cells);
/**
 * @param {number} k its column
 * @param {Child} value
 * @param {string} more classes
 */
const cell = (k, value, more = "") =>
  h("td", { role: "cell", class: `${HEADS[k].class ?? ""} ${more}`.trim() || null, data: { label: HEADS[k].text } }, value);
/** @param {Child[]} children */
const rowHead = (...children) => h("th", { role: "rowheader", scope: "row" }, h("span", { class: "named" }, ...children));

/** @param {OptionFacts} option */
const isHedge = (option) => option.riskPart !== null && option.riskPart < 0;

/**
 * @param {ColourOf} colourOf
 * @returns {Panel<Proposal>}
 */
export function proposedWeightsCard(colourOf) {
  let folded = true;
  /** @type {Proposal | null} */
  let shown = null;
  const place = h("div", { class: "proposing" }, h("div", { class: "empty" }, h("p", {}, "Loading…")));
  const element = card("Proposed weights, and why", place);

  /** @param {OptionFacts} option */
  function bar(option) {
    return h(
      "div",
      { class: "weight" },
      h("span", { class: "value" }, percent(option.weight)),
      h(
        "span",
        { class: "track", "aria-hidden": "true" },
        h("span", { class: "fill", style: { width: `${100 * option.weight}%`, backgroundColor: colourOf(option.name) } }),
      ),
    );
  }

  /** @param {number} idle how many options have no weight */
  function fold(idle) {
    if (idle <= MANY) return null;
    const text = folded ? `Show ${plural(idle, "option")} without weight` : "Hide options without weight";
    return h(
      "button",
      {
        type: "button",
        class: "quiet small",
        "aria-expanded": String(!folded),
        data: { focus: "fold" },
        onclick: () => {
          folded = !folded;
          draw();
        },
      },
      text,
    );
  }

  function draw() {
    if (shown === null) return;
    const { summary, explanation, estimates } = shown;
    const all = weightFacts(explanation, estimates, summary).sort((a, b) => Number(a.retired) - Number(b.retired) || b.weight - a.weight);
    const idle = all.filter((option) => option.weight === 0).length;
    const rows = folded && idle > MANY ? all.filter((option) => option.weight > 0) : all;
    fill(
      place,
      h("p", { class: "note" }, "What the next ask proposes. Contributions add up to the mix's mean and variance."),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Proposed weights" },
        h(
          "table",
          { class: "weights", role: "table" },
          h("caption", { class: "unseen" }, "Proposed weights with reasons"),
          h(
            "thead",
            { role: "rowgroup" },
            row({}, HEADS.map((head) => h("th", { role: "columnheader", scope: "col", class: head.class, title: head.title }, head.text))),
          ),
          h(
            "tbody",
            { role: "rowgroup" },
            rows.map((option) =>
              row(
                { class: option.retired ? "retired" : null },
                rowHead(h("span", { class: "key square", style: { color: colourOf(option.name) } }), h("span", {}, option.name)),
                cell(1, bar(option)),
                cell(2, weightReasons(option, all, explanation, summary).join("; ")),
                cell(3, number(option.meanPart)),
                cell(4, number(option.riskPart), isHedge(option) ? "hedge" : ""),
                cell(5, count(option.count)),
                cell(6, number(option.width)),
              ),
            ),
          ),
          h(
            "tfoot",
            { role: "rowgroup" },
            row(
              {},
              rowHead("Mix"),
              cell(1, h("div", { class: "weight" }, h("span", { class: "value" }, percent(all.reduce((sum, option) => sum + option.weight, 0))))),
              cell(2, ""),
              cell(3, number(explanation.mean)),
              cell(4, number(explanation.variance)),
              cell(5, ""),
              cell(6, ""),
            ),
          ),
        ),
      ),
      fold(idle),
      h(
        "p",
        { class: "note" },
        `Width: ${explanation.width_kind}.`,
        all.some(isHedge) ? " Negative contributions to risk (green) make the mix calmer." : "",
      ),
    );
  }

  return {
    element,
    update(figures) {
      shown = figures;
      draw();
    },
    fail(error) {
      fill(place, errorBox(error));
    },
    destroy() {},
  };
}
