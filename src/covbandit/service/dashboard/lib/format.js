// Numbers and times in words. What is unknown is a dash, never a zero.

export const DASH = "–";

const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const large = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 9 });
const MINUS = "−";

/** @type {[number, string][]} */
const STEPS = [
  [1e12, "\u00a0T"],
  [1e9, "\u00a0B"],
  [1e6, "\u00a0M"],
];

/**
 * Four digits, but never a digit that looks exact and is not: 12,069 in full, and 12.35 M where that is too long.
 *
 * @param {number | null | undefined} value
 */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  return written(value, Math.abs(value)).replaceAll("-", MINUS);
}

/**
 * @param {number} value
 * @param {number} size its absolute value
 */
function written(value, size) {
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return value.toExponential(2);
  if (size < 999.95) return plain.format(value);
  if (size < 9999999.5) return large.format(value);
  const [step, letter] = STEPS.find(([least]) => size >= 0.99995 * least) ?? [1, ""];
  return `${plain.format(value / step)}${letter}`;
}

const roughly = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/**
 * Two digits, of what is known no better.
 *
 * @param {number | null} value
 */
export const rough = (value) => (value !== null && Number.isFinite(value) ? roughly.format(value) : DASH);

/**
 * A tick of an axis: exact, and short where it is large.
 *
 * @param {number} value
 */
export function tick(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return String(value).replaceAll("-", MINUS);
  /** @type {[number, string][]} */
  const steps = [...STEPS, [1e3, "\u00a0k"]];
  const [step, letter] = steps.find(([least]) => size >= least) ?? [1, ""];
  return `${exact.format(value / step)}${letter}`.replaceAll("-", MINUS);
}

/** @param {number} value */
export function signed(value) {
  return value > 0 ? `+${number(value)}` : number(value);
}

/** @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? DASH : whole.format(value);
}

/** @param {number | null | undefined} weight */
export function percent(weight) {
  if (weight === null || weight === undefined) return DASH;
  const share = 100 * weight;
  if (share > 0 && share < 0.05) return "<0.1\u00a0%";
  return `${share.toFixed(share === 0 || share >= 99.95 ? 0 : 1)}\u00a0%`;
}

/**
 * @param {number} n
 * @param {string} word in the singular
 */
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** @type {[Intl.RelativeTimeFormatUnitSingular, number][]} */
const UNITS = [
  ["year", 31557600],
  ["month", 2629800],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "never ends";
  for (const [unit, size] of UNITS) {
    if (seconds >= size) return plural(Math.round((10 * seconds) / size) / 10, unit);
  }
  return "under a second";
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/**
 * @param {string | null} iso
 * @param {number} now in milliseconds
 */
export function ago(iso, now = Date.now()) {
  if (!iso) return DASH;
  const seconds = (Date.parse(iso) - now) / 1000;
  if (Math.abs(seconds) < 10) return "just now";
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return "just now";
}

const stamp = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** @param {string | null} iso */
export const moment = (iso) => (iso ? stamp.format(new Date(iso)) : DASH);

/**
 * A message that starts in lower case, as the start of a sentence; a name such as min_weight stays as it is.
 *
 * @param {string} text
 */
export const sentence = (text) => (/^\w*_/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));

/**
 * "a, b and c"
 *
 * @param {string[]} words
 */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/**
 * Long names are cut in charts, in their middle: names often differ at their ends. Tables have them whole.
 *
 * @param {string} name
 * @param {number} most characters
 */
export function short(name, most) {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) * 0.4);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(name.length - tail)}`;
}
