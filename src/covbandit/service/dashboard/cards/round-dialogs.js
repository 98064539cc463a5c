// Telling, amending, and recording rounds from elsewhere: one form, three uses. It lives in a dialog that no refresh
// touches, so nothing typed is ever lost.

import * as api from "../lib/api.js";
import { formDialog } from "../lib/dialogs.js";
import { entry, fill, h, newId } from "../lib/dom.js";
import { number, percent } from "../lib/format.js";
import { InputError } from "../lib/messages.js";
import { numberField, numberIn, numberOrNaN } from "../lib/number-input.js";
import { outcomePrompt } from "../lib/study-terms.js";

/** @import { Properties, Round, Summary, TellBody } from "../lib/types.d.ts" */

const TOLERANCE = 1e-9; // of the sum of weights, as the API's
const MISSING = "An outcome is missing. What is not known is not zero: tell the round when it is known.";

/** @param {number | null} value */
function known(value) {
  if (value === null) throw new InputError(MISSING);
  return value;
}

/**
 * @param {string} label
 * @param {string | number} value
 * @param {Properties} more
 */
const field = (label, value, more = {}) => numberField({ "aria-label": label, value: String(value), ...more });

/**
 * The form, and what it says.
 *
 * @param {Summary} summary
 * @param {Round | null} round null if it comes from outside
 * @param {boolean} ownWeights whether the fields for the weights played are open at first
 */
function build(summary, round, ownWeights) {
  const names = [...new Set([...Object.keys(round?.weights ?? {}), ...summary.options])];
  const asked = round?.weights ?? {};
  const played = round?.played ?? asked;
  const told = round?.outcome ?? null;
  const total = summary.feedback === "total";

  const rows = names.map((name) => ({
    name,
    asked: entry(asked, name) ?? 0,
    weight: field(`Weight played: ${name}`, round ? (entry(played, name) ?? 0) : ""),
    weightCell: h("td", { class: "number" }),
    outcome: total ? null : field(`Outcome: ${name}`, (typeof told === "number" ? undefined : entry(told, name)) ?? "", { data: { outcome: name } }),
    notSeen: h("span", { class: "note" }, "not seen"),
    element: h("tr", {}),
  }));
  const totalInput = total ? field("Outcome: total", typeof told === "number" ? told : "", { required: true }) : null;

  const box = newId("own");
  const own = h("input", { type: "checkbox", id: box, checked: ownWeights });
  const sum = h("span", { class: "note", role: "status" });

  /** @typedef {typeof rows[number]} Row */

  /** @param {Row} row */
  function weightOf(row) {
    return own.checked ? (numberOrNaN(row.weight, true) ?? 0) : row.asked;
  }

  /**
   * Return true if an option needs an outcome: those that were seen do.
   *
   * @param {Row} row
   */
  function needed(row) {
    if (total) return false;
    if (weightOf(row) > 0) return true;
    return summary.feedback === "all" && summary.options.includes(row.name) && summary.outcome !== "amount";
  }

  function refresh() {
    let all = 0;
    for (const row of rows) {
      all += weightOf(row);
      const here = needed(row);
      if (row.outcome !== null) {
        row.outcome.hidden = !here;
        row.outcome.required = here;
        row.notSeen.hidden = here;
      }
      row.weight.hidden = !own.checked;
      row.weightCell.hidden = !own.checked;
      row.element.hidden = !own.checked && !here && !(row.asked > 0);
    }
    const off = !(Math.abs(all - 1) <= TOLERANCE);
    sum.textContent = !own.checked ? "" : Number.isNaN(all) ? "One of the weights is not a number." : `They sum to ${number(all)}${off ? "; it must be 1" : ""}.`;
    sum.classList.toggle("warn", own.checked && off);
    playedHead.hidden = !own.checked;
  }

  const playedHead = h("th", { scope: "col", class: "number" }, "Played");
  for (const row of rows) {
    fill(row.weightCell, row.weight);
    fill(
      row.element,
      h("th", { scope: "row" }, row.name),
      round ? h("td", { class: "number" }, percent(row.asked)) : null,
      row.weightCell,
      total ? null : h("td", { class: "number" }, row.outcome, row.notSeen),
    );
    row.weight.addEventListener("input", refresh);
  }
  own.addEventListener("change", refresh);

  const short = !total && summary.feedback === "all" && summary.outcome === "amount";
  const element = h(
    "div",
    {},
    h("p", { class: "note" }, outcomePrompt(summary)),
    total
      ? h("p", {}, h("label", { class: "stacked" }, "Total outcome", totalInput))
      : null,
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "form-table" },
        h("caption", { class: "unseen" }, "Weights and outcomes"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Option"),
            round ? h("th", { scope: "col", class: "number" }, "Asked") : null,
            playedHead,
            total ? null : h("th", { scope: "col", class: "number" }, summary.outcome === "amount" ? "Earned" : "Reward"),
          ),
        ),
        h("tbody", {}, rows.map((row) => row.element)),
      ),
    ),
    round
      ? h("p", { class: "check" }, own, h("label", { for: box }, "Other weights were played than asked"))
      : null,
    sum,
    short ? h("p", { class: "note warn" }, "This study needs every option's outcome but is told amounts: an option without weight has none.") : null,
  );
  refresh();
  (totalInput ?? rows.find((row) => row.outcome !== null && !row.outcome.hidden)?.outcome)?.setAttribute("autofocus", "");

  /** @returns {TellBody} */
  function body() {
    const weights = own.checked
      ? { weights: Object.fromEntries(rows.map(({ name, weight }) => [name, numberIn(weight, `Weight of ${name}`, true) ?? 0])) }
      : {};
    if (totalInput !== null) return { outcome: known(numberIn(totalInput, "Total outcome")), ...weights };
    const typed = rows.flatMap((row) =>
      row.outcome !== null && needed(row) ? [{ name: row.name, value: numberIn(row.outcome, `Outcome of ${row.name}`) }] : [],
    );
    if (typed.length === 0) throw new InputError(MISSING);
    return { outcome: Object.fromEntries(typed.map(({ name, value }) => [name, known(value)])), ...weights };
  }
  return { element, body };
}

/**
 * Return true if other weights were played than asked.
 *
 * @param {Round} round
 */
function differs(round) {
  return round.played !== null && Object.keys(round.weights).some((name) => round.weights[name] !== (entry(round.played, name) ?? 0));
}

/**
 * @param {Summary} summary
 * @param {Round} round
 */
export function tellDialog(summary, round) {
  const { element, body } = build(summary, round, false);
  return formDialog({
    title: `Tell round ${round.id}`,
    body: element,
    confirm: "Tell",
    wide: true,
    submit: () => api.tell(summary.name, round.id, body()),
  });
}

/**
 * @param {Summary} summary
 * @param {Round} round
 */
export function amendDialog(summary, round) {
  const { element, body } = build(summary, round, differs(round));
  return formDialog({
    title: `Amend round ${round.id}`,
    body: [
      h("p", {}, "The correction is added to the log, and the study learns as if it had been told so. The log keeps both."),
      element,
    ],
    confirm: "Amend",
    wide: true,
    submit: () => api.amend(summary.name, round.id, body()),
  });
}

/** @param {Summary} summary */
export function outsideDialog(summary) {
  const { element, body } = build(summary, null, true);
  const id = newId("key");
  const key = h("input", { id, type: "text", maxlength: "200", autocomplete: "off" });
  const place = h("div", {});
  fill(
    place,
    h("p", {}, "Something played without asking, such as history. The study learns from it like from any round."),
    element,
    h("label", { class: "stacked", for: id }, "Key (optional)"),
    key,
    h("p", { class: "note" }, "The same key is never counted twice, so it is safe to send again."),
  );
  return formDialog({
    title: "Record a round from outside",
    body: place,
    confirm: "Record",
    wide: true,
    submit: () => api.tellOutside(summary.name, key.value.trim() ? { ...body(), key: key.value.trim() } : body()),
  });
}
