// Ask for weights, and see which rounds still wait for their outcome.

import { outsideDialog, tellDialog } from "./round-dialogs.js";
import * as api from "../lib/api.js";
import { card } from "../lib/card.js";
import { byFocusName, fill, h } from "../lib/dom.js";
import { ago, moment, percent } from "../lib/format.js";
import { showError, showSuccess } from "../lib/messages.js";
import { statusOf } from "../lib/round-store.js";

/** @import { RoundStore } from "../lib/round-store.js" */
/** @import { AskBody, ColourOf, Round, Summary, Weights } from "../lib/types.d.ts" */

const MOST = 4; // waiting rounds shown at once; the table below has the others

/**
 * Who waits, and for how long.
 *
 * @param {Round} round
 */
function waitingWords(round) {
  const who = [round.client, round.key].filter(Boolean).join(" · ");
  const lease =
    statusOf(round) === "expired"
      ? `lease ended ${ago(round.expires)}, may still be told`
      : round.expires === null
        ? "lease never ends"
        : `lease ends ${ago(round.expires)}`;
  return [who, `asked ${ago(round.asked_at)}`, lease].filter(Boolean).join(" · ");
}

/**
 * @param {Summary} summary
 * @param {RoundStore} store
 * @param {ColourOf} colourOf
 * @param {(round: Round) => void} changed is called with each round that the service answers with
 */
export function askAndTellCard(summary, store, colourOf, changed) {
  /** @type {Round | null} */
  let latest = null; // the round asked for here, shown with its weights until it is told

  const client = h("input", { type: "text", id: "ask-client", maxlength: "200", autocomplete: "off", placeholder: "e.g. desk-1" });
  const key = h("input", { type: "text", id: "ask-key", maxlength: "200", autocomplete: "off", placeholder: "e.g. 2026-W46" });
  const button = h("button", { type: "submit", class: "primary" }, "Ask for weights");
  const form = h(
    "form",
    { class: "ask", onsubmit: submit },
    h("div", { class: "field" }, h("label", { for: "ask-client" }, "Client (optional)"), client),
    h("div", { class: "field" }, h("label", { for: "ask-key" }, "Key (optional)"), key),
    button,
  );
  const answer = h("div", { class: "answer" });
  const waiting = h("div", {});
  const outside = h("button", { type: "button", class: "quiet small", onclick: record }, "Record a round from outside…");
  const element = card(
    "Ask and tell",
    form,
    h(
      "p",
      { class: "note" },
      "A client gets its open round again until it is told. A new key opens a new round; the same key never opens two.",
    ),
    answer,
    waiting,
    h("p", { class: "tight" }, outside),
  );

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    /** @type {AskBody} */
    const body = {};
    if (client.value.trim()) body.client = client.value.trim();
    if (key.value.trim()) body.key = key.value.trim();
    try {
      const found = await api.ask(summary.name, body);
      latest = found;
      if (statusOf(found) === "open") showSuccess(`Round ${found.id} is open.`);
      changed(found);
      byFocusName(element, `tell ${found.id}`)?.focus({ preventScroll: true });
    } catch (error) {
      showError(error);
    } finally {
      button.disabled = false;
    }
  }

  /** @param {Round} round */
  async function tell(round) {
    const told = await tellDialog(summary, round);
    if (told === null) return;
    if (latest?.id === told.id) latest = null;
    if (told.key !== null && key.value.trim() === told.key) key.value = ""; // the next ask is for something else
    showSuccess(`Round ${told.id} is told.`);
    changed(told);
    button.focus({ preventScroll: true }); // its own button is gone with the round
  }

  async function record() {
    const told = await outsideDialog(summary);
    if (told === null) return;
    showSuccess(`Recorded as round ${told.id}.`);
    changed(told);
  }

  function drawAnswer() {
    if (latest === null) {
      fill(answer);
      return;
    }
    if (latest.status === "told") {
      drawTold(store.rounds.get(latest.id) ?? latest);
      return;
    }
    const round = store.rounds.get(latest.id) ?? latest;
    if (round.status === "told") {
      latest = null; // told meanwhile, here or elsewhere
      fill(answer);
      return;
    }
    fill(
      answer,
      h(
        "div",
        { class: "proposal" },
        h("h3", {}, `Round ${round.id}: play these weights`),
        statusOf(round) === "expired" ? h("p", { class: "note" }, `It was asked ${ago(round.asked_at)}. Its lease has ended; it may still be told.`) : null,
        weightsOf(round.weights),
        h("button", { type: "button", class: "primary", data: { focus: `tell ${round.id}` }, onclick: () => tell(round) }, "Tell what happened…"),
      ),
    );
  }

  /**
   * Say that the key that was asked with belongs to a round that is done.
   *
   * @param {Round} round
   */
  function drawTold(round) {
    fill(
      answer,
      h(
        "div",
        { class: "proposal told", role: "status" },
        h("h3", {}, `${round.key ?? "This"} is round ${round.id}, told on ${moment(round.told_at)}`),
        h("p", { class: "note" }, "These weights were played. A key always gives the same round: take another key for a new one."),
        weightsOf(round.played ?? round.weights),
        h("button", { type: "button", data: { focus: "told, go on" }, onclick: goOn }, "Clear the key"),
      ),
    );
  }

  function goOn() {
    latest = null;
    key.value = "";
    drawAnswer();
    drawWaiting();
    key.focus({ preventScroll: true });
  }

  /** @param {Weights} weights */
  const weightsOf = (weights) =>
    h(
      "ul",
      { class: "proposed" },
      Object.entries(weights)
        .filter(([, weight]) => weight > 0)
        .sort((a, b) => b[1] - a[1])
        .map(([name, weight]) =>
          h("li", {}, h("span", {}, h("span", { class: "key square", style: { color: colourOf(name) } }), name), h("strong", {}, percent(weight))),
        ),
    );

  function drawWaiting() {
    const rounds = store.waiting().filter((round) => round.id !== latest?.id);
    if (rounds.length === 0) {
      fill(waiting, latest === null ? h("p", { class: "note" }, "No round waits for its outcome.") : null);
      return;
    }
    fill(
      waiting,
      h("h3", {}, `Waiting for outcome (${rounds.length})`),
      h(
        "ul",
        { class: "waiting" },
        rounds.slice(0, MOST).map((round) =>
          h(
            "li",
            {},
            h(
              "div",
              {},
              h("strong", {}, `Round ${round.id}`),
              statusOf(round) === "expired" ? h("span", { class: "badge expired" }, "overdue") : null,
              h("div", { class: "sub", title: moment(round.expires) }, waitingWords(round)),
            ),
            h(
              "button",
              { type: "button", data: { focus: `tell ${round.id}` }, "aria-label": `Tell round ${round.id}`, onclick: () => tell(round) },
              "Tell…",
            ),
          ),
        ),
      ),
      rounds.length > MOST ? h("p", { class: "note" }, `${rounds.length - MOST} more are in the table of rounds below.`) : null,
    );
  }

  return {
    element,
    tell,
    /** @param {Summary} newSummary */
    update(newSummary) {
      summary = newSummary;
      drawAnswer();
      drawWaiting();
    },
  };
}
