// The table of rounds: filter, pages, details, and the buttons to tell or amend.

import { amendDialog } from "./round-dialogs.js";
import { card } from "../lib/card.js";
import { entry, fill, h, newId, table } from "../lib/dom.js";
import { count, moment, number, percent, plural, signed } from "../lib/format.js";
import { showError, showSuccess } from "../lib/messages.js";
import { since } from "../lib/relative-times.js";
import { statusOf } from "../lib/round-store.js";

/** @import { RoundStore } from "../lib/round-store.js" */
/** @import { ColourOf, Round, Summary } from "../lib/types.d.ts" */

const PAGE = 20;

/** @typedef {"all" | "open" | "expired" | "told" | "amended" | "late" | "outside"} Filter */

/** @type {Record<Filter, [text: string, accepts: (round: Round) => boolean]>} */
const FILTERS = {
  all: ["All", () => true],
  open: ["Open", (round) => statusOf(round) === "open"],
  expired: ["Overdue", (round) => statusOf(round) === "expired"],
  told: ["Told", (round) => round.status === "told"],
  amended: ["Amended", (round) => round.amendments > 0],
  late: ["Late", (round) => round.late],
  outside: ["From outside", (round) => round.source === "outside"],
};

/** @param {Round} round */
function badges(round) {
  const status = statusOf(round);
  const found = [[status, status === "expired" ? "overdue" : status]];
  if (round.amendments > 0) found.push(["amended", round.amendments > 1 ? `amended ${round.amendments} ×` : "amended"]);
  if (round.late) found.push(["late", "late"]);
  if (round.source === "outside") found.push(["outside", "outside"]);
  return found.map(([kind, text]) => h("span", { class: `badge ${kind}` }, text));
}

/** @param {Round} round */
function details(round) {
  const outcomes = typeof round.outcome === "number" ? null : round.outcome;
  const names = Object.keys({ ...round.weights, ...(round.played ?? {}) }).filter(
    (name) => (entry(round.weights, name) ?? 0) > 0 || (entry(round.played, name) ?? 0) > 0 || entry(round.rewards, name) !== undefined,
  );
  /** @type {[name: string, value: string | null][]} */
  const facts = [
    ["Asked", round.source === "outside" ? "told from outside" : moment(round.asked_at)],
    ["Client", round.client],
    ["Key", round.key],
    ["Lease", round.source === "outside" ? null : round.expires === null ? "never ends" : `${round.status === "told" ? "was until" : "until"} ${moment(round.expires)}`],
    ["Told", round.told_at === null ? "not yet" : moment(round.told_at)],
    ["Others open when asked", round.source === "outside" ? null : count(round.outstanding)],
    ["Total outcome", typeof round.outcome === "number" ? number(round.outcome) : null],
    ["Corrections", round.amendments ? count(round.amendments) : null],
    ["Revision", count(round.revision)],
  ];
  return h(
    "div",
    { class: "details" },
    h("dl", {}, facts.map(([name, value]) => (value === null || value === "" ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value))))),
    table(
      `Round ${round.id}`,
      [
        "Option",
        { text: "Asked", numeric: true },
        ...(round.played ? [{ text: "Played", numeric: true }] : []),
        ...(outcomes !== null ? [{ text: "Outcome", numeric: true }, { text: "Per unit", numeric: true }] : []),
      ],
      names.map((name) => [
        name,
        percent(entry(round.weights, name) ?? 0),
        ...(round.played ? [percent(entry(round.played, name) ?? 0)] : []),
        ...(outcomes !== null ? [number(entry(outcomes, name)), number(entry(round.rewards, name))] : []),
      ]),
    ),
  );
}

/**
 * @param {Summary} summary
 * @param {RoundStore} store
 * @param {ColourOf} colourOf
 * @param {object} actions
 * @param {(round: Round) => void} actions.tell opens the dialog
 * @param {(round: Round) => void} actions.changed is called with each round that the service answers with
 */
export function roundsCard(summary, store, colourOf, { tell, changed }) {
  /** @type {Filter} */
  let filter = "all";
  let page = 0;
  /** @type {Set<number>} */
  const opened = new Set();

  const place = h("div", {});
  const select = h(
    "select",
    { id: newId("filter"), onchange: choose },
    Object.entries(FILTERS).map(([key, [text]]) => h("option", { value: key }, text)),
  );
  const status = h("span", { class: "note", role: "status" });
  const newer = h("button", { type: "button", onclick: () => turn(-1) }, "Newer");
  const older = h("button", { type: "button", onclick: () => turn(1) }, "Older");
  const pager = h("div", { class: "pager" }, newer, older);
  const element = card(
    "Rounds",
    h("div", { class: "tools" }, h("label", { for: select.id }, "Show"), select, status),
    place,
    pager,
  );
  element.classList.add("full");

  async function choose() {
    filter = /** @type {Filter} */ (select.value);
    page = 0;
    draw();
    if (filter !== "open" && filter !== "expired") return;
    try {
      await store.ofStatus(filter);
      draw();
    } catch (error) {
      showError(error);
    }
  }

  /** Rounds older than the window that is known without gaps are left out, unless all of their status are known. */
  function found() {
    const everywhere = filter === "open" || filter === "expired";
    return store.sorted().filter((round) => (everywhere || round.revision > store.low) && FILTERS[filter][1](round));
  }

  /** @param {number} step in pages: towards older ones, or back if it is negative */
  async function turn(step) {
    const wanted = Math.max(0, page + step);
    older.disabled = true;
    try {
      while (found().length <= wanted * PAGE && !store.complete) await store.older();
      page = Math.min(wanted, Math.max(0, Math.ceil(found().length / PAGE) - 1));
    } catch (error) {
      showError(error);
    }
    draw();
  }

  /** @param {Round} round */
  async function amend(round) {
    const told = await amendDialog(summary, round);
    if (told === null) return;
    showSuccess(`Round ${told.id} is amended.`);
    changed(told);
  }

  /** @param {Round} round */
  function expand(round) {
    if (opened.has(round.id)) opened.delete(round.id);
    else opened.add(round.id);
    draw();
  }

  /**
   * The weights as a bar.
   *
   * @param {Round} round
   */
  function mix(round) {
    const weights = round.played ?? round.weights;
    const held = Object.entries(weights).filter(([, weight]) => weight > 0);
    const words = held
      .sort((a, b) => b[1] - a[1])
      .map(([name, weight]) => `${name} ${percent(weight)}`)
      .join(", ");
    return h(
      "span",
      { class: "mix", role: "img", "aria-label": words, title: words },
      held.map(([name, weight]) => h("span", { style: { width: `${100 * weight}%`, backgroundColor: colourOf(name) } })),
    );
  }

  /**
   * The row of a round, and that of its details if they are open.
   *
   * @param {Round} round
   */
  function rowsOf(round) {
    const open = opened.has(round.id);
    const control = `round-${round.id}`;
    const row = h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h(
          "button",
          {
            type: "button",
            class: "expand",
            "aria-expanded": String(open),
            "aria-controls": open ? control : null,
            "aria-label": `Round ${round.id}, details`,
            data: { focus: `details ${round.id}` },
            onclick: () => expand(round),
          },
          h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "),
          String(round.id),
        ),
      ),
      h("td", {}, badges(round)),
      h("td", { class: "less" }, [round.client, round.key].filter(Boolean).join(" · ")),
      h("td", { class: "less" }, round.source === "outside" ? "" : since(round.asked_at)),
      h("td", { class: "less" }, since(round.told_at)),
      h("td", { class: "less" }, mix(round)),
      h("td", { class: "number" }, round.reward === null ? "" : signed(round.reward)),
      h(
        "td",
        { class: "number" },
        round.status === "told"
          ? h("button", { type: "button", class: "small quiet", data: { focus: `amend ${round.id}` }, "aria-label": `Amend round ${round.id}`, onclick: () => amend(round) }, "Amend…")
          : h("button", { type: "button", class: "small", data: { focus: `tell ${round.id}` }, "aria-label": `Tell round ${round.id}`, onclick: () => tell(round) }, "Tell…"),
      ),
    );
    return open ? [row, h("tr", { class: "detail-row", id: control }, h("td", { colspan: "8" }, details(round)))] : [row];
  }

  function draw() {
    const rounds = found();
    const known = store.complete || filter === "open" || filter === "expired";
    const pages = Math.max(1, Math.ceil(rounds.length / PAGE));
    page = Math.min(page, pages - 1);
    newer.disabled = page === 0;
    older.disabled = page === pages - 1 && known;
    pager.hidden = newer.disabled && older.disabled;
    const shown = rounds.slice(page * PAGE, (page + 1) * PAGE);
    status.textContent =
      summary.rounds === 0
        ? ""
        : shown.length === 0
          ? `None of this kind${known ? "" : " among the newest; “Older” looks further"}.`
          : `${page * PAGE + 1} to ${page * PAGE + shown.length} of ${known ? plural(rounds.length, "round") : `${plural(summary.rounds, "round")} in all`}, last changed first.`;
    if (shown.length === 0) {
      fill(place, summary.rounds === 0 ? h("div", { class: "empty" }, h("p", {}, "No rounds yet. Ask for weights above: that opens the first.")) : null);
      return;
    }
    fill(
      place,
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "rounds" },
          h("caption", { class: "unseen" }, "Rounds"),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "Round"),
              h("th", { scope: "col" }, "Status"),
              h("th", { scope: "col", class: "less" }, "Client · key"),
              h("th", { scope: "col", class: "less" }, "Asked"),
              h("th", { scope: "col", class: "less" }, "Told"),
              h("th", { scope: "col", class: "less" }, "Weights"),
              h("th", { scope: "col", class: "number", title: "What the weights earned together, per unit" }, "Reward"),
              h("th", { scope: "col" }, h("span", { class: "unseen" }, "Actions")),
            ),
          ),
          h("tbody", {}, shown.flatMap(rowsOf)),
        ),
      ),
    );
  }

  return {
    element,
    /** @param {Summary} newSummary */
    update(newSummary) {
      summary = newSummary;
      draw();
    },
  };
}
