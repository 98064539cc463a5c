// Which options to draw: a study may have a thousand, and a picture of all of them shows nothing.

/** @import { Estimates } from "../lib/types.d.ts" */

const MOST_DRAWN = 40;

/**
 * Places of the options to draw, in their order: all, or those with the largest estimated means.
 *
 * @param {Estimates} estimates
 */
export function drawnOptions(estimates) {
  const places = estimates.options.map((_, k) => k);
  if (places.length <= MOST_DRAWN) return places;
  /** @param {number} k */
  const rank = (k) => estimates.mean[k] ?? -Infinity;
  return places
    .sort((a, b) => Number(estimates.in_use[b]) - Number(estimates.in_use[a]) || rank(b) - rank(a) || a - b)
    .slice(0, MOST_DRAWN)
    .sort((a, b) => a - b);
}

/**
 * @param {number} shown how many options are drawn
 * @param {number} all
 */
export function drawnOptionsNote(shown, all) {
  return shown < all ? ` ${shown} of ${all} options are drawn, those with the largest estimated means.` : "";
}

/** @typedef {{name: string, values: number[], rest: boolean}} Column `rest`: the sum of the options that have none */

/**
 * What was played over time, as columns to draw: all options, or those with most weight and the sum of the others.
 *
 * @param {Record<string, number[]>} weights
 * @param {number} most columns
 * @returns {Column[]}
 */
export function drawnColumns(weights, most) {
  const columns = Object.entries(weights).map(([name, values]) => ({ name, values, rest: false }));
  if (columns.length <= most) return columns;
  /** @param {Column} column */
  const total = ({ values }) => values.reduce((sum, weight) => sum + weight, 0);
  const kept = new Set([...columns].sort((a, b) => total(b) - total(a)).slice(0, most - 1));
  const others = columns.filter((column) => !kept.has(column));
  const sums = columns[0].values.map((_, k) => others.reduce((sum, { values }) => sum + values[k], 0));
  return [...columns.filter((column) => kept.has(column)), { name: `${others.length} other options`, values: sums, rest: true }];
}
