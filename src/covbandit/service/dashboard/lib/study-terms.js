// What the terms of a study mean, said once and the same everywhere.

/** @import { Feedback, OutcomeKind, Summary } from "./types.d.ts" */

/** @typedef {{short: string, title: string, text: string, learner?: string}} Term */

/** @type {Record<Feedback, Term>} */
export const feedbackWords = {
  all: {
    short: "every option",
    title: "Every option's result",
    text: "You learn what each option earned, played or not. Prices and returns are like this.",
    learner: "ShrunkEmpirical",
  },
  chosen: {
    short: "chosen options",
    title: "Only the chosen options' results",
    text: "You learn what each option with weight earned, and nothing about the others. Campaigns are like this.",
    learner: "PairUCB",
  },
  total: {
    short: "only the total",
    title: "Only the total",
    text: "You learn one number: what the whole mix earned. Treatments are like this.",
    learner: "GradientTS",
  },
};

/** @type {Record<OutcomeKind, Term>} */
export const outcomeWords = {
  per_unit: {
    short: "per unit of weight",
    title: "Per unit of weight",
    text: "The reward of each option as if all weight were on it: a return of 0.012, a margin per unit of budget.",
  },
  amount: {
    short: "amounts",
    title: "Amounts",
    text: "What each option earned at its weight, with the whole budget counted as 1. It is divided by the weight, so an option without weight has no outcome.",
  },
};

/**
 * What to type into the field of one outcome.
 *
 * @param {Summary} summary
 */
export function outcomePrompt(summary) {
  if (summary.feedback === "total") {
    return summary.outcome === "amount"
      ? "What the whole mix earned, with the whole budget counted as 1."
      : "What the whole mix earned per unit of budget.";
  }
  return summary.outcome === "amount"
    ? "What each option earned at its weight (not per unit). Every field is needed: a missing outcome is not a zero."
    : "What each option earned per unit of weight. Every field is needed: a missing outcome is not a zero.";
}

/** The learners by what they see. */
export const learnerClasses = {
  "Every option's result": ["ShrunkEmpirical", "MCEmpirical", "OGD", "LinearFI"],
  "Only the chosen options' results": ["PairUCB", "MCUCB", "MCUCBGamma", "OLSUCBC"],
  "Only the total": ["GradientTS", "MCETE", "OGDETE", "LinearFB"],
};
