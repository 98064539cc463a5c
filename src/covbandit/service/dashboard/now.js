// What the study proposes now, and why.

import { card } from "./charts.js";
import { fill, h } from "./dom.js";
import { ago, count, duration, listed, moment, number, percent, plural, signed } from "./format.js";
import { errorBox } from "./messages.js";
import { facts, reasons } from "./reasons.js";
import { feedbackWords, outcomeWords } from "./words.js";

export function headline(summary, explanation) {
  const by = explanation.by_option;
  const held = by.option
    .map((name, k) => [String(name), by.weight[k]])
    .filter(([, weight]) => weight > 0)
    .sort((a, b) => b[1] - a[1]);
  if (explanation.rounds === 0) return "Nothing told yet. Ask for weights, then tell what happened.";
  const named = held.slice(0, 3).map(([name, weight]) => `${percent(weight)} ${name}`);
  if (held.length > 3) named.push(`${percent(held.slice(3).reduce((sum, [, w]) => sum + w, 0))} in ${held.length - 3} more`);
  return `After ${plural(explanation.rounds, "told round")}, it proposes ${listed(named)}.`;
}

const figure = (name, value, hint, tone) =>
  h("div", { class: "figure", title: hint }, h("dt", {}, name), h("dd", { class: tone ?? null }, value));

/** The line of figures under the study's name. */
export function figures(summary, explanation, history) {
  const total = history?.cumulative_reward?.at(-1) ?? null;
  return h(
    "dl",
    { class: "figures" },
    figure("Rounds told", count(summary.told), `${summary.amended} of them amended`),
    figure("Waiting for outcome", count(summary.open + summary.expired), `${summary.open} open, ${summary.expired} past their lease`),
    figure("Estimated mean", number(explanation?.mean), "Of the weights proposed now, per round and unit"),
    figure("Estimated risk (sd)", number(explanation?.standard_deviation), "Standard deviation of the weights proposed now"),
    figure("Earned so far", total === null ? number(null) : signed(total), "Sum of the rewards per unit of all told rounds"),
    figure("Last told", summary.last_told_at ? ago(summary.last_told_at) : "never", moment(summary.last_told_at)),
  );
}

/** How the study is set up, in words. */
export function setUp(summary) {
  const rho = summary.risk_aversion === null ? "no risk aversion" : `ρ = ${number(summary.risk_aversion)}`;
  const least = summary.min_weight ? [`weights 0 or at least ${percent(summary.min_weight)}`] : [];
  return h(
    "p",
    { class: "setup" },
    h("span", { title: summary.learner }, summary.learner_class),
    [
      `sees ${feedbackWords[summary.feedback]?.short ?? summary.feedback}`,
      `told ${summary.outcome === "amount" ? "in" : ""} ${outcomeWords[summary.outcome]?.short ?? summary.outcome}`.replace("  ", " "),
      rho,
      ...least,
      `lease ${duration(summary.lease_seconds)}`,
    ].map((text) => h("span", {}, text)),
  );
}

export function nowCard(colourOf) {
  const place = h("div", {});
  const element = card("Proposed weights, and why", place);
  element.classList.add("now");
  return {
    element,
    update({ summary, explanation, estimates }) {
      const all = facts(explanation, estimates, summary).sort((a, b) => a.retired - b.retired || b.weight - a.weight);
      const most = Math.max(...all.map((option) => option.weight), 1e-9);
      const negative = all.some((option) => option.riskPart < 0);
      fill(
        place,
        h("p", { class: "note" }, "What the next ask proposes. Contributions add up to the mix's mean and variance."),
        h(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Proposed weights" },
          h(
            "table",
            { class: "weights" },
            h("caption", { class: "unseen" }, "Proposed weights with reasons"),
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "col" }, "Option"),
                h("th", { scope: "col", class: "wide" }, "Weight"),
                h("th", { scope: "col", class: "why" }, "Why"),
                h("th", { scope: "col", class: "number", title: "Weight times estimated mean" }, "To mean"),
                h("th", { scope: "col", class: "number", title: "Share of the mix's variance; negative ones hedge" }, "To risk"),
                h("th", { scope: "col", class: "number", title: "How often its outcome was seen" }, "Seen"),
                h("th", { scope: "col", class: "number", title: explanation.width_kind }, "± Width"),
              ),
            ),
            h(
              "tbody",
              {},
              all.map((option) =>
                h(
                  "tr",
                  { class: option.retired ? "retired" : null },
                  h("th", { scope: "row" }, h("span", { class: "key square", style: { color: colourOf(option.name) } }), option.name),
                  h(
                    "td",
                    {},
                    h(
                      "div",
                      { class: "weight" },
                      h("span", { class: "value" }, percent(option.weight)),
                      h(
                        "span",
                        { class: "track", "aria-hidden": "true" },
                        h("span", {
                          class: "fill",
                          style: { width: `${(100 * option.weight) / most}%`, backgroundColor: colourOf(option.name) },
                        }),
                      ),
                    ),
                  ),
                  h("td", { class: "why" }, reasons(option, all, explanation, summary).join("; ")),
                  h("td", { class: "number" }, number(option.meanPart)),
                  h("td", { class: option.riskPart < 0 ? "number hedge" : "number" }, number(option.riskPart)),
                  h("td", { class: "number" }, count(option.count)),
                  h("td", { class: "number" }, number(option.width)),
                ),
              ),
            ),
            h(
              "tfoot",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "row" }, "Mix"),
                h("td", {}, percent(all.reduce((sum, option) => sum + option.weight, 0))),
                h("td", { class: "why" }, ""),
                h("td", { class: "number" }, number(explanation.mean)),
                h("td", { class: "number" }, number(explanation.variance)),
                h("td", {}),
                h("td", {}),
              ),
            ),
          ),
        ),
        h(
          "p",
          { class: "note" },
          `Width: ${explanation.width_kind}.`,
          negative ? " Negative risk contributions (green) lower the mix's risk." : "",
        ),
      );
    },
    fail(error) {
      fill(place, errorBox(error));
    },
    destroy() {},
  };
}
