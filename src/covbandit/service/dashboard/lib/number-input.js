// Numbers as people type them. A text that may mean two numbers, such as 3,600, is never guessed at: both are named.
// Fields are of type text, since what a browser makes of a comma in a number field depends on its language.

import { h } from "./dom.js";
import { InputError } from "./messages.js";

/** @import { Properties } from "./types.d.ts" */

const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const SIMPLE = /^(\d+[.,]?\d*|[.,]\d+)$/;
const GROUPED = /^\d{1,3}([ '_])\d{3}(\1\d{3})*([.,]\d*)?$/;
/** @type {Record<string, RegExp>} */
const GROUPS = { ",": /^\d{1,3}(,\d{2,3})*,\d{3}$/, ".": /^\d{1,3}(\.\d{2,3})*\.\d{3}$/ };
const CURRENCY = /[€$£¥₹]|EUR|USD|GBP|CHF|JPY|INR/i;
/** @type {Record<string, number[]>} */
const SCALES = { k: [3], K: [3], tsd: [3], m: [6, -3], M: [6], mm: [6], mio: [6], b: [9], B: [9], bn: [9], mrd: [9] };

/**
 * Take the sign off a text.
 *
 * @param {string} text
 * @param {boolean} negative whether a sign was taken off before that makes it negative
 * @returns {[text: string, negative: boolean]}
 */
function unsigned(text, negative = false) {
  if (text.startsWith("(") && text.endsWith(")")) return [text.slice(1, -1).trim(), !negative];
  if (/^[+-]/.test(text)) return [text.slice(1).trim(), negative !== text.startsWith("-")];
  if (text.endsWith("-")) return [text.slice(0, -1).trim(), !negative];
  return [text, negative];
}

/**
 * What digits with separators may mean, as decimals.
 *
 * @param {string} body
 */
function decimals(body) {
  if (GROUPED.test(body)) return [body.replaceAll(/[ '_]/g, "").replace(",", ".")];
  for (const [mark, other] of [[",", "."], [".", ","]]) {
    const at = body.lastIndexOf(mark);
    const [whole, rest] = [body.slice(0, at), body.slice(at + 1)];
    if (at >= 0 && whole.includes(other) && GROUPS[other].test(whole) && /^\d*$/.test(rest)) return [`${whole.replaceAll(other, "")}.${rest}`];
    if (body.split(mark).length > 2 && GROUPS[mark].test(body)) return [body.replaceAll(mark, "")];
  }
  if (!SIMPLE.test(body)) return [];
  const [before, after = ""] = body.replace(",", ".").split(".");
  const number = `${before || 0}.${after || 0}`;
  const thousands = after.length === 3 && before.length >= 1 && before.length <= 3 && !before.startsWith("0");
  return thousands ? [before + after, number] : [number];
}

/**
 * A decimal times a power of ten, moved by hand: no digit is lost.
 *
 * @param {string} decimal
 * @param {number} power
 */
function scaled(decimal, power) {
  let [whole, rest = ""] = decimal.split(".");
  if (power > 0) {
    rest = rest.padEnd(power, "0");
    [whole, rest] = [whole + rest.slice(0, power), rest.slice(power)];
  } else if (power < 0) {
    whole = whole.padStart(1 - power, "0");
    [whole, rest] = [whole.slice(0, power), whole.slice(power) + rest];
  }
  const point = rest.replace(/0+$/, "");
  return `${whole.replace(/^0+(?=\d)/, "")}${point ? `.${point}` : ""}`;
}

/**
 * The numbers that a text may mean; none if it does not look like a number.
 *
 * @param {string} text
 * @param {boolean} share whether it is a share: then "5 %" has one meaning
 */
export function readings(text, share = false) {
  if (text.length > 60) return [];
  let [body, negative] = unsigned(text.replaceAll(/[\u00a0\u2007\u2009\u202f]/g, " ").replaceAll(/[\u2212\u2013]/g, "-").replaceAll(/[\u2019\u02bc]/g, "'").trim());
  const bare = body.replace(CURRENCY, "");
  if (bare !== body) [body, negative] = unsigned(bare.trim(), negative);
  let powers = [0];
  const suffix = /([A-Za-z]+)\.?$/.exec(body);
  if (body.endsWith("%")) {
    body = body.slice(0, -1).trim();
    powers = share ? [-2] : [-2, 0];
  } else if (suffix !== null) {
    const [word] = [suffix[1]];
    powers = Object.hasOwn(SCALES, word) ? SCALES[word] : Object.hasOwn(SCALES, word.toLowerCase()) ? SCALES[word.toLowerCase()] : [];
    body = body.slice(0, suffix.index).trim();
  }
  const found = decimals(body).flatMap((decimal) => powers.map((power) => scaled(decimal, power)));
  return [...new Set(found.map((number) => (negative && number !== "0" ? `-${number}` : number)))];
}

/**
 * What is wrong with a text as a number, with the way out; null if it is one.
 *
 * @param {string} text
 * @param {boolean} share
 */
export function mistake(text, share = false) {
  if (PLAIN.test(text.trim()) && Number.isFinite(Number(text))) return null;
  const meant = readings(text.trim(), share);
  if (meant.length === 0) return `“${text}” is not a number.`;
  if (meant.length === 1) return `“${text}” is not written as a number: write ${meant[0]}.`;
  return `“${text}” may mean ${meant.slice(0, -1).join(", ")} or ${meant.at(-1)}: write the one that is meant.`;
}

/**
 * A field for one number.
 *
 * @param {Properties} properties
 */
export function numberField(properties = {}) {
  return h("input", { type: "text", inputmode: "decimal", class: "amount", autocomplete: "off", spellcheck: "false", ...properties });
}

/**
 * The number in a field; null if it is empty, NaN if it is no number.
 *
 * @param {HTMLInputElement} input
 * @param {boolean} share
 */
export function numberOrNaN(input, share = false) {
  const text = input.value.trim();
  if (text === "") return null;
  return mistake(text, share) === null ? Number(text) : NaN;
}

/**
 * The number in a field; null if it is empty. Anything else throws an error that says what it may mean.
 *
 * @param {HTMLInputElement} input
 * @param {string} what the field is for
 * @param {boolean} share
 */
export function numberIn(input, what, share = false) {
  const value = numberOrNaN(input, share);
  if (Number.isNaN(value)) {
    input.focus();
    throw new InputError(`${what}: ${mistake(input.value.trim(), share)}`);
  }
  return value;
}
