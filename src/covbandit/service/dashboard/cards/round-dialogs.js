// Telling, amending, and recording rounds from elsewhere: one form, three uses. It lives in a dialog that no refresh
// touches, so nothing typed is ever lost.

import * as api from "../lib/api.js";
import { formDialog } from "../lib/dialogs.js";
import { entry, fill, h, newId } from "../lib/dom.js";
import { number, percent } from "../lib/format.js";
import { Plain } from "../lib/messages.js";
import { numberField, numberIn, valueOf } from "../lib/number-input.js";
import { outcomePrompt } from "../lib/study-terms.js";

const TOLERANCE = 1e-9; // of the sum of weights, as the API's

const field = (label, value, more = {}) => numberField({ "aria-label": label, value: String(value ?? ""), ...more });

function build(summary, round, { ownWeights }) {
  const names = [...new Set([...Object.keys(round?.weights ?? {}), ...summary.options])];
  const asked = round?.weights ?? {};
  const played = round?.played ?? asked;
  const told = round?.outcome ?? null;
  const total = summary.feedback === "total";

  const weightInputs = new Map(
    names.map((name) => [name, field(`Weight played: ${name}`, round ? (entry(played, name) ?? 0) : "")]),
  );
  const outcomeInputs = new Map(
    total ? [] : names.map((name) => [name, field(`Outcome: ${name}`, entry(told, name) ?? "", { data: { outcome: name } })]),
  );
  const totalInput = total ? field("Outcome: total", typeof told === "number" ? told : "", { required: true }) : null;

  const box = newId("own");
  const own = h("input", { type: "checkbox", id: box, checked: ownWeights });
  const sum = h("span", { class: "note", role: "status" });
  const rows = new Map();
  const cells = new Map();

  function weightOf(name) {
    return own.checked ? (valueOf(weightInputs.get(name), true) ?? 0) : (entry(asked, name) ?? 0);
  }

  /** Which options need an outcome: those that were seen. */
  function needed(name) {
    if (total) return false;
    if (weightOf(name) > 0) return true;
    return summary.feedback === "all" && summary.options.includes(name) && summary.outcome !== "amount";
  }

  function refresh() {
    let all = 0;
    for (const name of names) {
      all += weightOf(name);
      const here = needed(name);
      const input = outcomeInputs.get(name);
      if (input) {
        input.hidden = !here;
        input.required = here;
        cells.get(name).hidden = here;
      }
      weightInputs.get(name).hidden = !own.checked;
      rows.get(name).hidden = !own.checked && !here && !(entry(asked, name) > 0);
    }
    const off = !(Math.abs(all - 1) <= TOLERANCE);
    sum.textContent = !own.checked ? "" : Number.isNaN(all) ? "One of the weights is not a number." : `They sum to ${number(all)}${off ? "; it must be 1" : ""}.`;
    sum.classList.toggle("warn", own.checked && off);
    playedHead.hidden = !own.checked;
    for (const cell of playedCells) cell.hidden = !own.checked;
  }

  const playedHead = h("th", { scope: "col", class: "number" }, "Played");
  const playedCells = [];
  for (const name of names) {
    const gap = h("span", { class: "note" }, "not seen");
    cells.set(name, gap);
    const cell = h("td", { class: "number" }, weightInputs.get(name));
    playedCells.push(cell);
    rows.set(
      name,
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name),
        round ? h("td", { class: "number" }, percent(entry(asked, name) ?? 0)) : null,
        cell,
        total ? null : h("td", { class: "number" }, outcomeInputs.get(name), gap),
      ),
    );
    weightInputs.get(name).addEventListener("input", refresh);
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
        h("tbody", {}, [...rows.values()]),
      ),
    ),
    round
      ? h("p", { class: "check" }, own, h("label", { for: box }, "Other weights were played than asked"))
      : null,
    sum,
    short ? h("p", { class: "note warn" }, "This study needs every option's outcome but is told amounts: an option without weight has none.") : null,
  );
  refresh();
  (totalInput ?? [...outcomeInputs.values()].find((input) => !input.hidden))?.setAttribute("autofocus", "");

  function body() {
    const weights = own.checked
      ? Object.fromEntries(names.map((name) => [name, numberIn(weightInputs.get(name), `Weight of ${name}`, true) ?? 0]))
      : undefined;
    const outcome = total
      ? numberIn(totalInput, "Total outcome")
      : Object.fromEntries(names.filter(needed).map((name) => [name, numberIn(outcomeInputs.get(name), `Outcome of ${name}`)]));
    const values = total ? [outcome] : Object.values(outcome);
    if (values.length === 0 || values.some((value) => value === null)) {
      throw new Plain("An outcome is missing. What is not known is not zero: tell the round when it is known.");
    }
    return weights === undefined ? { outcome } : { outcome, weights };
  }
  return { element, body };
}

function differs(round) {
  return round.played !== null && Object.keys(round.weights).some((name) => round.weights[name] !== (entry(round.played, name) ?? 0));
}

export function tellDialog(summary, round) {
  const { element, body } = build(summary, round, { ownWeights: false });
  return formDialog({
    title: `Tell round ${round.id}`,
    body: element,
    confirm: "Tell",
    wide: true,
    submit: () => api.tell(summary.name, round.id, body()),
  });
}

export function amendDialog(summary, round) {
  const { element, body } = build(summary, round, { ownWeights: differs(round) });
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

export function outsideDialog(summary) {
  const { element, body } = build(summary, null, { ownWeights: true });
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
