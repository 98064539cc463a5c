// Changes of the set-up, each behind a confirmation and in the log.

import * as api from "../lib/api.js";
import { card } from "../lib/card.js";
import { confirmDialog } from "../lib/dialogs.js";
import { fill, h } from "../lib/dom.js";
import { number, rough } from "../lib/format.js";
import { showError, showSuccess } from "../lib/messages.js";
import { numberField, numberIn } from "../lib/number-input.js";

/** @import { ChangeBody, Summary } from "../lib/types.d.ts" */

/**
 * @param {Summary} summary
 * @param {() => void} changed is called after each change
 */
export function setUpCard(summary, changed) {
  const rho = numberField({ id: "rho", required: true });
  const rhoRange = h("p", { class: "note" });
  const rhoForm = h(
    "form",
    { class: "inline", onsubmit: setRho },
    h("div", { class: "field" }, h("label", { for: "rho" }, "Risk aversion ρ"), rho),
    h("button", { type: "submit" }, "Change…"),
  );
  const option = h("input", { type: "text", id: "new-option", maxlength: "200", required: true, autocomplete: "off" });
  const addForm = h(
    "form",
    { class: "inline", onsubmit: add },
    h("div", { class: "field" }, h("label", { for: "new-option" }, "New option"), option),
    h("button", { type: "submit" }, "Add…"),
  );
  const options = h("ul", { class: "options" });
  const element = card("Set-up", h("p", { class: "note" }, "Changes take effect with the next ask and are logged. They need a token of scope admin where tokens are used."), rhoForm, rhoRange, h("h3", {}, "Options"), options, addForm);

  /**
   * Change the study after a confirmation; return true if it was changed.
   *
   * @param {string} title
   * @param {string} text
   * @param {string} confirm
   * @param {ChangeBody} body
   * @param {string} done said afterwards
   */
  async function apply(title, text, confirm, body, done) {
    if (await confirmDialog(title, text, confirm, () => api.change(summary.name, body))) {
      showSuccess(done);
      changed();
      return true;
    }
    return false;
  }

  /** @param {SubmitEvent} event */
  async function setRho(event) {
    event.preventDefault();
    let value;
    try {
      value = numberIn(rho, "Risk aversion ρ");
    } catch (error) {
      showError(error);
      return;
    }
    const done = await apply(
      `Change risk aversion to ${number(value)}?`,
      `It is ${number(summary.risk_aversion)} now. Larger values give up more mean for less risk. What was learned stays.`,
      "Change",
      { risk_aversion: value },
      "Risk aversion is changed.",
    );
    if (done) rho.value = "";
  }

  /** @param {SubmitEvent} event */
  async function add(event) {
    event.preventDefault();
    const name = option.value.trim();
    const done = await apply(`Add option “${name}”?`, "It starts unseen, and the learner explores it by its own rule.", "Add", { add: name }, `${name} is added.`);
    if (done) option.value = "";
  }

  /** @param {string} name */
  const retire = (name) =>
    apply(`Retire “${name}”?`, "It gets weight 0 from the next ask on. Its statistics stay, and it can be restored.", "Retire", { retire: name }, `${name} is retired.`);

  /** @param {string} name */
  const restore = (name) =>
    apply(`Restore “${name}”?`, "It may get weight again, with the statistics it had.", "Restore", { restore: name }, `${name} is restored.`);

  return {
    element,
    /** @param {Summary} newSummary */
    update(newSummary) {
      summary = newSummary;
      rhoForm.hidden = summary.risk_aversion === null;
      const range = summary.risk_aversion_check?.known ? summary.risk_aversion_check : null;
      rhoRange.hidden = range === null;
      rhoRange.textContent =
        range === null
          ? ""
          : `By the estimates so far, ρ matters ${range.high === null ? `above ${rough(range.low)}` : `between ${rough(range.low)} and ${rough(range.high)}`}.`;
      rho.placeholder = summary.risk_aversion === null ? "" : `now ${number(summary.risk_aversion)}`;
      fill(
        options,
        summary.options.map((name) =>
          h(
            "li",
            {},
            h("span", {}, name),
            h(
              "button",
              { type: "button", class: "small quiet", disabled: summary.options.length < 2, data: { focus: `option ${name}` }, "aria-label": `Retire ${name}`, onclick: () => retire(name) },
              "Retire…",
            ),
          ),
        ),
        summary.retired.map((name) =>
          h(
            "li",
            { class: "retired" },
            h("span", {}, name, " ", h("span", { class: "badge" }, "retired")),
            h("button", { type: "button", class: "small quiet", data: { focus: `option ${name}` }, "aria-label": `Restore ${name}`, onclick: () => restore(name) }, "Restore…"),
          ),
        ),
      );
    },
  };
}
