// Why an option has its weight, in words, and only as far as the figures say so.

import { number, percent, plural } from "../lib/format.js";

/** @import { Estimates, Explanation, OptionColumns, Summary } from "../lib/types.d.ts" */

/**
 * What is known of one option.
 *
 * @typedef {object} OptionFacts
 * @property {string} name
 * @property {number} weight
 * @property {number | null} meanPart its part of the mix's mean
 * @property {number | null} riskPart its part of the mix's variance
 * @property {number | null} count how often it was seen
 * @property {number | null} width
 * @property {number | null} mean
 * @property {number | null} withMix its covariance with the mix
 * @property {number | null} value its marginal value
 * @property {boolean} retired
 */

/**
 * The figures of /explain and /estimates, one record per option.
 *
 * @param {Explanation} explanation
 * @param {Estimates} estimates
 * @param {Summary} summary
 * @returns {OptionFacts[]}
 */
export function weightFacts(explanation, estimates, summary) {
  const by = explanation.by_option;
  const place = new Map(estimates.options.map((name, k) => [name, k]));
  return by.option.map((option, k) => {
    const name = String(option);
    const at = place.get(name);
    const mean = at === undefined ? null : estimates.mean[at];
    const withMix = at === undefined ? null : covarianceWithMix(estimates, at, by, place);
    const rho = summary.risk_aversion ?? 0;
    return {
      name,
      weight: by.weight[k],
      meanPart: by.mean_contribution[k],
      riskPart: by.risk_contribution[k],
      count: by.count[k],
      width: by.width[k],
      mean,
      withMix,
      value: mean === null || (rho > 0 && withMix === null) ? null : mean - 2 * rho * (withMix ?? 0), // marginal
      retired: summary.retired.includes(name),
    };
  });
}

/**
 * (Σ̂w)_i: how an option moves with the proposed mix; null if any part of it is unknown.
 *
 * @param {Estimates} estimates
 * @param {number} at the place of the option i
 * @param {OptionColumns} by
 * @param {Map<string, number>} place of each option in the estimates
 */
function covarianceWithMix(estimates, at, by, place) {
  if (!estimates.covariance) return null;
  let sum = 0;
  for (const [k, option] of by.option.entries()) {
    if (by.weight[k] === 0) continue;
    const term = estimates.covariance[at]?.[place.get(String(option)) ?? -1];
    if (term === null || term === undefined) return null;
    sum += by.weight[k] * term;
  }
  return sum;
}

/**
 * The reasons for one option, most telling first.
 *
 * @param {OptionFacts} option
 * @param {OptionFacts[]} all
 * @param {Explanation} explanation
 * @param {Summary} summary
 * @returns {string[]}
 */
export function weightReasons(option, all, explanation, summary) {
  if (option.retired) return ["retired: kept at 0, its statistics stay"];
  if (explanation.rounds === 0) {
    return [option.weight > 0 ? "starting weight: nothing has been told" : "its turn comes: nothing has been told"];
  }
  const inUse = all.filter((other) => !other.retired);
  const means = knownMeans(inUse);
  const best = means.length ? Math.max(...means) : null;
  if (option.count === 0 && summary.feedback !== "total") {
    return [option.weight > 0 ? "not seen yet: played to learn about it" : "not seen yet"];
  }
  if (means.length === 0) return ["no estimate of single options yet: the learner is still exploring mixes"];
  return option.weight > 0
    ? whyHeld(option, inUse, best, explanation, summary)
    : whyLeftOut(option, inUse, best, explanation);
}

/** @param {OptionFacts[]} options */
const knownMeans = (options) => options.flatMap(({ mean }) => (mean === null ? [] : [mean]));

/**
 * @param {OptionFacts} option
 * @param {OptionFacts[]} inUse
 * @param {number | null} best the largest mean
 * @param {Explanation} explanation
 * @param {Summary} summary
 */
function whyHeld(option, inUse, best, explanation, summary) {
  const found = [];
  const largest = option.mean !== null && option.mean === best;
  if (largest) found.push("largest estimated mean");
  if (option.riskPart !== null && option.riskPart < 0) found.push("hedges the others (negative risk contribution)");
  const share = option.riskPart !== null && option.riskPart >= 0 && explanation.variance !== null && explanation.variance > 0 ? option.riskPart / explanation.variance : null;
  if (exploring(option, inUse)) {
    found.push(`still exploring: seen ${plural(option.count ?? 0, "time")}, has more weight than its estimates earn`);
  } else if (share !== null && share < 0.97 * option.weight) {
    found.push(`calms the mix: ${percent(share)} of its risk at ${percent(option.weight)} of the weight`);
  } else if (share !== null && largest && share > 1.03 * option.weight) {
    found.push(`pays for ${percent(share)} of the risk`);
  }
  if (summary.min_weight && option.weight <= summary.min_weight * (1 + 1e-9)) {
    found.push(`at the least weight allowed, ${percent(summary.min_weight)}`);
  }
  if (found.length === 0 && option.mean !== null && explanation.mean !== null) {
    found.push(`estimated mean ${number(option.mean)}, ${option.mean >= explanation.mean ? "above" : "below"} the mix's`);
  }
  return found.length ? found : ["by the learner's rule; its own estimate is not known yet"];
}

/**
 * At the best mix for the estimates, all options with weight have the same marginal value. One whose value is clearly
 * below the mix's has its weight for another reason: to be learned about.
 *
 * @param {OptionFacts} option
 * @param {OptionFacts[]} inUse
 */
function exploring(option, inUse) {
  const values = inUse.flatMap(({ value }) => (value === null ? [] : [value]));
  if (option.value === null || values.length < inUse.length) return false;
  const mix = inUse.reduce((sum, other, k) => sum + other.weight * values[k], 0);
  return mix - option.value > 0.05 * (Math.max(...values) - Math.min(...values));
}

/**
 * @param {OptionFacts} option
 * @param {OptionFacts[]} inUse
 * @param {number | null} best the largest mean
 * @param {Explanation} explanation
 */
function whyLeftOut(option, inUse, best, explanation) {
  const found = [];
  if (option.mean !== null && explanation.mean !== null && option.mean < explanation.mean) {
    const least = Math.min(...knownMeans(inUse));
    found.push(option.mean === least ? "smallest estimated mean" : "estimated mean below the mix's");
  } else if (option.mean !== null && option.mean === best) found.push("largest estimated mean, but not worth its risk");
  if (option.withMix !== null && explanation.variance !== null && explanation.variance > 0 && option.withMix > explanation.variance) {
    found.push("would add risk: it moves with the mix");
  }
  return found.length ? found : ["left out by the trade-off of mean and risk"];
}
