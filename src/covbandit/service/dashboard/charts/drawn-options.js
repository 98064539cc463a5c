// A study may have a thousand options, and a picture of all of them shows nothing. These are the ones to draw.

export const MOST_DRAWN = 40;

/** Places of the options to draw, in their order: all, or those with the largest estimated means. */
export function leading(estimates, most = MOST_DRAWN) {
  const places = estimates.options.map((_, k) => k);
  if (places.length <= most) return places;
  const rank = (k) => estimates.mean[k] ?? -Infinity;
  return places
    .sort((a, b) => estimates.in_use[b] - estimates.in_use[a] || rank(b) - rank(a) || a - b)
    .slice(0, most)
    .sort((a, b) => a - b);
}

export function leadingNote(shown, all) {
  return shown < all ? ` ${shown} of ${all} options are drawn, those with the largest estimated means.` : "";
}

/** What was played over time, as columns to draw: all options, or those with most weight and the sum of the others. */
export function leadingColumns(weights, most) {
  const columns = Object.entries(weights).map(([name, values]) => ({ name, values, rest: false }));
  if (columns.length <= most) return columns;
  const total = ({ values }) => values.reduce((sum, weight) => sum + weight, 0);
  const kept = new Set([...columns].sort((a, b) => total(b) - total(a)).slice(0, most - 1));
  const others = columns.filter((column) => !kept.has(column));
  const sums = columns[0].values.map((_, k) => others.reduce((sum, { values }) => sum + values[k], 0));
  return [...columns.filter((column) => kept.has(column)), { name: `${others.length} other options`, values: sums, rest: true }];
}
