// Changes of the set-up, each behind a confirmation and in the log; exports; the check of the log.

import * as api from "../lib/api.js";
import { card } from "../charts/chart-card.js";
import { confirmDialog } from "../lib/dialogs.js";
import { fill, h } from "../lib/dom.js";
import { number, rough, sentence } from "../lib/format.js";
import { bad, good } from "../lib/messages.js";
import { numberField, numberIn } from "../lib/number-input.js";
import { since } from "../lib/relative-times.js";

function changeWords({ kind, detail }) {
  switch (kind) {
    case "created":
      return "Created";
    case "risk_aversion":
      return `Risk aversion from ${number(detail.before)} to ${number(detail.risk_aversion)}`;
    case "retired":
      return `Retired ${detail.option}`;
    case "restored":
      return `Restored ${detail.option}`;
    case "added":
      return `Added ${detail.option}`;
    case "amended":
      return `Amended round ${detail.round}`;
    default:
      return `${kind} ${JSON.stringify(detail)}`;
  }
}

export function settingsCard(changed) {
  let summary = null;

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

  async function apply(title, text, confirm, body, done) {
    if (await confirmDialog(title, text, confirm, () => api.change(summary.name, body))) {
      good(done);
      changed();
      return true;
    }
    return false;
  }

  async function setRho(event) {
    event.preventDefault();
    let value;
    try {
      value = numberIn(rho, "Risk aversion ρ");
    } catch (error) {
      bad(error);
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

  async function add(event) {
    event.preventDefault();
    const name = option.value.trim();
    const done = await apply(`Add option “${name}”?`, "It starts unseen, and the learner explores it by its own rule.", "Add", { add: name }, `${name} is added.`);
    if (done) option.value = "";
  }

  const retire = (name) =>
    apply(`Retire “${name}”?`, "It gets weight 0 from the next ask on. Its statistics stay, and it can be restored.", "Retire", { retire: name }, `${name} is retired.`);

  const restore = (name) =>
    apply(`Restore “${name}”?`, "It may get weight again, with the statistics it had.", "Restore", { restore: name }, `${name} is restored.`);

  return {
    element,
    update(newSummary) {
      summary = newSummary;
      rhoForm.hidden = summary.risk_aversion === null;
      const { known, low, high } = summary.risk_aversion_check ?? { known: false };
      rhoRange.hidden = !known;
      rhoRange.textContent = known ? `By the estimates so far, ρ matters ${high === null ? `above ${rough(low)}` : `between ${rough(low)} and ${rough(high)}`}.` : "";
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

export function logCard(name) {
  const log = h("ol", { class: "log" });
  const finding = h("p", { class: "note", role: "status" });

  /** A download through a blob: the token travels in a header, never in an address. */
  async function download(format) {
    try {
      const url = URL.createObjectURL(await api.exportFile(name, format));
      const link = h("a", { href: url, download: `${name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")}.${format}` });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } catch (error) {
      bad(error);
    }
  }

  async function check(event) {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      const answer = await api.verify(name);
      finding.textContent = sentence(answer.message);
      finding.classList.toggle("warn", !answer.ok);
    } catch (error) {
      bad(error);
    } finally {
      button.disabled = false;
    }
  }

  const element = card(
    "Log and export",
    h("p", { class: "note" }, "Every round with weights, outcomes and times."),
    h(
      "div",
      { class: "buttons" },
      [["csv", "CSV"], ["json", "JSON"], ["parquet", "Parquet"]].map(([format, text]) =>
        h("button", { type: "button", "aria-label": `Export as ${text}`, onclick: () => download(format) }, text),
      ),
      h("button", { type: "button", class: "quiet", title: "Tell the whole log to a fresh learner and compare", onclick: check }, "Verify the log"),
    ),
    finding,
    h("h3", {}, "Changes"),
    log,
  );
  return {
    element,
    update(changes) {
      fill(
        log,
        [...changes].reverse().map((change) => h("li", {}, h("span", {}, changeWords(change)), h("span", { class: "sub" }, since(change.at)))),
      );
    },
    fail(error) {
      bad(error);
    },
    destroy() {},
  };
}
