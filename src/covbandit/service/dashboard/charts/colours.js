// Colours that colour-blind readers can tell apart (Okabe and Ito), and the theme's colours for charts.

import { colour } from "../lib/theme.js";

/** @import { ChartColours } from "../lib/types.d.ts" */

const BASE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#c8b400", "#7f7f86"];

/** @param {string} hex */
const parts = (hex) => [1, 3, 5].map((k) => Number.parseInt(hex.slice(k, k + 2), 16));

/**
 * @param {string} hex
 * @param {string} towards another colour
 * @param {number} share of that colour
 */
function mixed(hex, towards, share) {
  const [a, b] = [parts(hex), parts(towards)];
  return `rgb(${a.map((value, k) => Math.round(value + share * (b[k] - value))).join(", ")})`;
}

/**
 * The k-th option's colour: the eight first, then lighter and darker ones.
 *
 * @param {number} k
 */
export function optionColour(k) {
  const base = BASE[k % BASE.length];
  const round = Math.floor(k / BASE.length) % 3;
  return round === 0 ? mixed(base, base, 0) : mixed(base, round === 1 ? "#ffffff" : "#000000", round === 1 ? 0.45 : 0.4);
}

/** @returns {ChartColours} */
export function chartColours() {
  return {
    text: colour("--text"),
    soft: colour("--soft"),
    line: colour("--line"),
    card: colour("--card"),
    accent: colour("--accent"),
    second: colour("--second"),
    third: colour("--third"),
  };
}
