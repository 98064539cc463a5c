// A new study, with each choice explained where it is made.

import * as api from "../lib/api.js";
import { fill, h, newId } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { describeError, InputError, showError, showSuccess } from "../lib/messages.js";
import { numberField, numberIn } from "../lib/number-input.js";
import { feedbackWords, learnerClasses, outcomeWords } from "../lib/study-terms.js";
import { studyLink } from "./studies.js";

/** @import { CreateBody, View } from "../lib/types.d.ts" */
/** @import { Term } from "../lib/study-terms.js" */

/** @type {Record<string, number>} */
const UNITS = { minutes: 60, hours: 3600, days: 86400 };
const NO_RHO = new Set(["LinearFI", "LinearFB", "OLSUCBC"]); // these learners look at means alone
/** @type {Record<string, string>} */
const SETTINGS = { MCEmpirical: '{"half_life": 60}', PairUCB: '{"bonus": 0.5}' }; // examples; all learners take a seed
const NO_LEAST = new Set(["total", "GradientTS", "MCETE", "OGDETE", "LinearFB"]);

/**
 * A choice of one among several, each explained.
 *
 * @template {string} Value
 * @param {string} name
 * @param {string} legend
 * @param {Record<Value, Term>} words
 * @param {Value} chosen at first
 * @param {() => void} onchange
 */
function choices(name, legend, words, chosen, onchange) {
  /** @type {{value: Value, input: HTMLInputElement}[]} */
  const inputs = [];
  const element = h(
    "fieldset",
    {},
    h("legend", {}, legend),
    /** @type {[Value, Term][]} */ (Object.entries(words)).map(([value, { title, text, learner }]) => {
      const id = newId(name);
      const input = h("input", { type: "radio", name, id, value, checked: value === chosen, onchange });
      inputs.push({ value, input });
      return h(
        "label",
        { class: "choice", for: id },
        input,
        h("span", {}, h("strong", {}, title), h("span", { class: "note" }, text, learner ? ` Learner: ${learner}.` : "")),
      );
    }),
  );
  return { element, value: () => inputs.find(({ input }) => input.checked)?.value ?? chosen };
}

/**
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [note]
 */
function field(label, input, note) {
  const id = newId("field");
  input.id = id;
  if (note) input.setAttribute("aria-describedby", `${id}-note`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, note ? h("p", { class: "note", id: `${id}-note` }, note) : null);
}

/** @type {View} */
export async function showNewStudy(main) {
  const name = h("input", { type: "text", required: true, maxlength: "200", autocomplete: "off" });
  const options = h("textarea", { rows: "5", required: true, spellcheck: "false", placeholder: "SPY\nTLT\nGLD" });
  const counted = h("p", { class: "note", role: "status" }, "One per line.");
  const feedback = choices("feedback", "What do you get to see of a round?", feedbackWords, "all", adapt);
  const outcome = choices("outcome", "How will outcomes be told?", outcomeWords, "per_unit", () => {});
  const learner = h(
    "select",
    { onchange: adapt },
    h("option", { value: "" }, "The default for what you see"),
    Object.entries(learnerClasses).map(([group, names]) => h("optgroup", { label: group }, names.map((text) => h("option", { value: text }, text)))),
  );
  const rho = numberField({ required: true });
  const least = numberField({ placeholder: "none" });
  const lease = numberField({ value: "30", required: true, "aria-label": "Lease" });
  const unit = h("select", { "aria-label": "Unit of the lease" }, Object.keys(UNITS).map((text) => h("option", { value: text, selected: text === "days" }, text)));
  const never = h("input", { type: "checkbox", id: newId("never"), onchange: adapt });
  const more = h("textarea", { rows: "2", spellcheck: "false" });
  const trouble = h("div", { role: "alert" });
  const go = h("button", { type: "submit", class: "primary" }, "Create study");

  const names = () => options.value.split("\n").map((line) => line.trim()).filter(Boolean);

  options.addEventListener("input", () => {
    const found = names();
    const twice = found.length - new Set(found).size;
    counted.textContent = `${plural(found.length, "option")}, one per line${twice ? `; ${twice} named twice` : ""}.`;
    counted.classList.toggle("warn", twice > 0);
  });

  const rhoField = field(
    "Risk aversion ρ",
    rho,
    "Mean given up per unit of variance, in 1 / (unit of reward): about 2 for returns as fractions, 0.02 for returns in percent, 0.0002 for amounts in the thousands. 0 looks at means alone; larger values prefer calm mixes. It can be changed later.",
  );
  const leastField = field("Least weight (optional)", least, "Every weight is 0 or at least this, e.g. 0.1. With “chosen options” it makes the learner choose; above 0.5 it chooses one option at a time, and how options move together is never seen.");

  function adapt() {
    feedback.element.disabled = learner.value !== "";
    rhoField.hidden = NO_RHO.has(learner.value);
    rho.required = !rhoField.hidden;
    leastField.hidden = NO_LEAST.has(learner.value || feedback.value());
    lease.disabled = unit.disabled = never.checked;
    more.placeholder = SETTINGS[learner.value] ?? '{"seed": 1}';
  }

  /** @returns {CreateBody} */
  function body() {
    /** @type {Record<string, unknown>} */
    const settings = {};
    if (learner.value) settings.class = learner.value;
    else settings.feedback = feedback.value();
    if (!rhoField.hidden) settings.risk_aversion = numberIn(rho, "Risk aversion ρ");
    const atLeast = leastField.hidden ? null : numberIn(least, "Least weight", true);
    if (atLeast !== null) settings.min_weight = atLeast;
    if (more.value.trim()) {
      let extra = null;
      try {
        extra = JSON.parse(more.value);
      } catch {
        // the same as a number or a list: no arguments by name
      }
      if (extra === null || typeof extra !== "object" || Array.isArray(extra)) {
        throw new InputError(`The learner's other settings are not arguments by name in JSON, such as ${more.placeholder}.`);
      }
      Object.assign(settings, extra);
    }
    return {
      name: name.value.trim(),
      options: names(),
      outcome: outcome.value(),
      learner: settings,
      lease_seconds: never.checked ? null : (numberIn(lease, "Lease") ?? 0) * UNITS[unit.value],
    };
  }

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (go.disabled) return;
    go.disabled = true;
    fill(trouble);
    try {
      const made = await api.createStudy(body());
      showSuccess(`${made.name} is created.`);
      location.hash = studyLink(made.name);
    } catch (error) {
      fill(trouble, h("div", { class: "message bad" }, h("div", {}, ...describeError(error))));
      if (error instanceof api.ApiError && error.status === 0) showError(error);
    } finally {
      go.disabled = false;
    }
  }

  fill(
    main,
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "← Studies")),
    h("h1", {}, "New study"),
    h(
      "form",
      { class: "card create", onsubmit: submit },
      field("Name", name, "How you will find it. No slashes."),
      h("div", {}, field("Options", options), counted),
      feedback.element,
      outcome.element,
      h("div", { class: "pair" }, rhoField, leastField),
      h(
        "fieldset",
        {},
        h("legend", {}, "Lease of a round"),
        h("div", { class: "inline" }, lease, unit, h("span", { class: "check" }, never, h("label", { for: never.id }, "never ends"))),
        h("p", { class: "note" }, "How long a client keeps an open round. An outcome may still be told after that."),
      ),
      h(
        "details",
        {},
        h("summary", {}, "Choose the learner yourself"),
        h("div", { class: "pair" }, field("Learner", learner, "Its class says what it sees, in place of the choice above. The defaults had less regret than the paper's learners in simulations; with few rounds, equal weights may cost less than any."), field("Other settings (JSON)", more, "Arguments of the learner's class, by name.")),
      ),
      trouble,
      h("div", { class: "actions" }, h("a", { class: "button", href: "#/" }, "Cancel"), go),
    ),
  );
  adapt();
  name.focus();
  return () => {};
}
