// Why an option has its weight, in words, and only as far as the figures say so.

import { count, number, percent, plural } from "./format.js";

/** The figures of /explain and /estimates, one record per option. */
export function facts(explanation, estimates, summary) {
  const by = explanation.by_option;
  const place = new Map((estimates?.options ?? []).map((name, k) => [name, k]));
  return by.option.map((option, k) => {
    const name = String(option);
    const at = place.get(name);
    return {
      name,
      weight: by.weight[k],
      meanPart: by.mean_contribution[k],
      riskPart: by.risk_contribution[k],
      count: by.count[k],
      width: by.width[k],
      mean: at === undefined ? null : estimates.mean[at],
      withMix: at === undefined ? null : covarianceWithMix(estimates, at, by, place),
      retired: summary.retired.includes(name),
    };
  });
}

/** (Σ̂w)_i: how an option moves with the proposed mix; null if any part of it is unknown. */
function covarianceWithMix(estimates, at, by, place) {
  if (!estimates.covariance) return null;
  let sum = 0;
  for (const [k, option] of by.option.entries()) {
    if (by.weight[k] === 0) continue;
    const term = estimates.covariance[at]?.[place.get(String(option))];
    if (term === null || term === undefined) return null;
    sum += by.weight[k] * term;
  }
  return sum;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.floor(sorted.length / 2)];
}

/** The reasons for one option, most telling first. */
export function reasons(option, all, explanation, summary) {
  if (option.retired) return ["retired: kept at 0, its statistics stay"];
  if (explanation.rounds === 0) {
    return [option.weight > 0 ? "starting weight: nothing has been told" : "its turn comes: nothing has been told"];
  }
  const inUse = all.filter((other) => !other.retired);
  const known = inUse.filter((other) => other.mean !== null);
  const best = known.length ? Math.max(...known.map((other) => other.mean)) : null;
  if (option.count === 0 && summary.feedback !== "total") {
    return [option.weight > 0 ? "not seen yet: played to learn about it" : "not seen yet"];
  }
  if (known.length === 0) return ["no estimate of single options yet: the learner is still exploring mixes"];
  return option.weight > 0
    ? whyHeld(option, inUse, best, explanation, summary)
    : whyLeftOut(option, inUse, best, explanation);
}

function whyHeld(option, inUse, best, explanation, summary) {
  const found = [];
  if (option.mean !== null && option.mean === best) found.push("largest estimated mean");
  if (option.riskPart !== null && option.riskPart < 0) found.push("hedges the others (negative risk contribution)");
  else if (option.riskPart !== null && explanation.variance > 0) {
    const share = option.riskPart / explanation.variance;
    if (share < 0.75 * option.weight) {
      found.push(`adds little risk: ${percent(share)} of it at ${percent(option.weight)} of the weight`);
    } else if (share > 1.25 * option.weight && option.mean !== null && explanation.mean !== null && option.mean > explanation.mean) {
      found.push(`its mean pays for ${percent(share)} of the risk`);
    }
  }
  const usual = median(inUse.map((other) => other.count));
  const mayBeBest = option.mean !== null && option.width !== null && option.mean < best && option.mean + option.width >= best;
  if (mayBeBest && option.count < usual) {
    found.push(`still exploring: seen ${plural(option.count, "time")}, its mean may be the largest`);
  } else if (summary.feedback !== "total" && option.count * 3 <= usual) {
    found.push(`still exploring: seen ${plural(option.count, "time")}, others ${count(usual)}`);
  }
  if (summary.min_weight && option.weight <= summary.min_weight * (1 + 1e-9)) {
    found.push(`at the least weight allowed, ${percent(summary.min_weight)}`);
  }
  if (found.length === 0 && option.mean !== null && explanation.mean !== null) {
    found.push(
      option.mean >= explanation.mean
        ? `estimated mean ${number(option.mean)}, above the mix's`
        : `spreads the risk; estimated mean ${number(option.mean)}, below the mix's`,
    );
  }
  return found;
}

function whyLeftOut(option, inUse, best, explanation) {
  const found = [];
  if (option.mean !== null && explanation.mean !== null && option.mean < explanation.mean) {
    const least = Math.min(...inUse.filter((other) => other.mean !== null).map((other) => other.mean));
    found.push(option.mean === least ? "smallest estimated mean" : "estimated mean below the mix's");
  } else if (option.mean !== null && option.mean === best) found.push("largest estimated mean, but not worth its risk");
  if (option.withMix !== null && explanation.variance > 0 && option.withMix > explanation.variance) {
    found.push("would add risk: it moves with the mix");
  }
  return found.length ? found : ["left out by the trade-off of mean and risk"];
}
