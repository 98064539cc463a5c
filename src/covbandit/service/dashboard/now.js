// A study in one sentence and six figures.

import { h } from "./dom.js";
import { count, duration, listed, number, percent, plural, signed } from "./format.js";
import { since } from "./times.js";
import { feedbackWords, outcomeWords } from "./words.js";

export function headline(summary, explanation) {
  const by = explanation.by_option;
  const held = by.option
    .map((name, k) => [String(name), by.weight[k]])
    .filter(([, weight]) => weight > 0)
    .sort((a, b) => b[1] - a[1]);
  if (explanation.rounds === 0) return "Nothing told yet. Ask for weights, then tell what happened.";
  const most = held.length <= 4 ? 4 : 3;
  const named = held.slice(0, most).map(([name, weight]) => `${percent(weight)} ${name}`);
  if (held.length > most) {
    named.push(`${percent(held.slice(most).reduce((sum, [, weight]) => sum + weight, 0))} in ${held.length - most} more`);
  }
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
    figure("Last told", since(summary.last_told_at, "never")),
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
