// The head of a study's page: one sentence, six figures, remarks and the set-up.

import { h } from "../lib/dom.js";
import { count, duration, listed, number, percent, plural, sentence, signed } from "../lib/format.js";
import { since } from "../lib/relative-times.js";
import { feedbackWords, outcomeWords } from "../lib/study-terms.js";

/** @import { Child, Explanation, History, Summary } from "../lib/types.d.ts" */

/**
 * What the study proposes now, in one sentence.
 *
 * @param {Explanation} explanation
 * @param {History | null} history
 */
export function headline(explanation, history) {
  const by = explanation.by_option;
  const held = by.option
    .map((name, k) => ({ name: String(name), weight: by.weight[k] }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
  if (explanation.rounds === 0) return "Nothing told yet. Ask for weights, then tell what happened.";
  const most = held.length <= 4 ? 4 : 3;
  const named = held.slice(0, most).map(({ name, weight }) => `${percent(weight)} ${name}`);
  if (held.length > most) {
    named.push(`${percent(held.slice(most).reduce((sum, { weight }) => sum + weight, 0))} in ${held.length - most} more`);
  }
  const outside = fromOutside(history);
  const some = outside ? ` (${outside === history?.told ? "all" : count(outside)} from outside)` : "";
  return `After ${plural(explanation.rounds, "told round")}${some}, it proposes ${listed(named)}.`;
}

/**
 * How many rounds were told from outside.
 *
 * @param {History | null} history
 */
const fromOutside = (history) => (history === null ? 0 : history.told - history.asked);

/**
 * @param {string} name
 * @param {Child} value
 * @param {string} [hint]
 * @param {string | null} [more]
 */
const figure = (name, value, hint, more) =>
  h("div", { class: "figure", title: hint }, h("dt", {}, name), h("dd", {}, value), more ? h("dd", { class: "more" }, more) : null);

/**
 * What the study's own proposals earned; rounds told from outside are somebody else's.
 *
 * @param {History | null} history
 */
function earned(history) {
  const outside = fromOutside(history);
  const total = history?.asked ? (history.asked_cumulative_reward.at(-1) ?? null) : null;
  const equal = history?.asked ? (history.asked_equal_weights_cumulative_reward?.at(-1) ?? null) : null;
  const against = equal === null ? "" : ` Equal weights would have earned ${signed(equal)} in the same rounds.`;
  return figure(
    outside ? "Earned by the study" : "Earned so far",
    total === null ? number(null) : signed(total),
    `Sum of the rewards per unit of the told rounds${outside ? " that the study proposed" : ""}.${against}`,
    outside ? (history?.asked ? `from ${plural(history.asked, "proposal")}` : "no proposal told yet") : null,
  );
}

/**
 * The line of figures under the study's name.
 *
 * @param {Summary} summary
 * @param {Explanation | null} explanation
 * @param {History | null} history
 */
export function figures(summary, explanation, history) {
  const outside = fromOutside(history);
  return h(
    "dl",
    { class: "figures" },
    figure("Rounds told", count(summary.told), `${summary.amended} of them amended`, outside ? `${count(outside)} from outside` : null),
    figure("Waiting for outcome", count(summary.open + summary.expired), `${summary.open} open, ${summary.expired} past their lease`),
    figure("Estimated mean", number(explanation?.mean), "Of the weights proposed now, per round and unit"),
    figure("Estimated risk (sd)", number(explanation?.standard_deviation), "Standard deviation of the weights proposed now"),
    earned(history),
    figure("Last told", since(summary.last_told_at, "never")),
  );
}

/**
 * What should be known of the set-up: a least weight above one half, a ρ that does not matter.
 *
 * @param {Summary} summary
 */
export function remarksOn(summary) {
  const texts = [...summary.remarks, summary.risk_aversion_check?.message];
  return texts.map((text) => (text ? h("p", { class: "message notice", role: "note" }, sentence(text)) : null));
}

/**
 * How the study is set up, in words.
 *
 * @param {Summary} summary
 */
export function setUpLine(summary) {
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
