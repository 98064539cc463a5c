// The table of rounds: filter, pages, details, and the buttons to tell or amend.

import { card } from "../charts/chart-card.js";
import { entry, fill, h, newId, table } from "../lib/dom.js";
import { count, moment, number, percent, plural, signed } from "../lib/format.js";
import { bad, good } from "../lib/messages.js";
import { amendDialog } from "./round-dialogs.js";
import { statusOf } from "../lib/round-store.js";
import { since } from "../lib/relative-times.js";

const PAGE = 20;

const FILTERS = {
  all: ["All", () => true],
  open: ["Open", (round) => statusOf(round) === "open"],
  expired: ["Overdue", (round) => statusOf(round) === "expired"],
  told: ["Told", (round) => round.status === "told"],
  amended: ["Amended", (round) => round.amendments > 0],
  late: ["Late", (round) => round.late],
  outside: ["From outside", (round) => round.source === "outside"],
};

function badges(round) {
  const status = statusOf(round);
  const found = [[status, status === "expired" ? "overdue" : status]];
  if (round.amendments > 0) found.push(["amended", round.amendments > 1 ? `amended ${round.amendments} ×` : "amended"]);
  if (round.late) found.push(["late", "late"]);
  if (round.source === "outside") found.push(["outside", "outside"]);
  return found.map(([kind, text]) => h("span", { class: `badge ${kind}` }, text));
}

function details(round) {
  const names = Object.keys({ ...round.weights, ...(round.played ?? {}) }).filter(
    (name) => entry(round.weights, name) > 0 || entry(round.played, name) > 0 || entry(round.rewards, name) !== undefined,
  );
  const total = typeof round.outcome === "number";
  const facts = [
    ["Asked", round.source === "outside" ? "told from outside" : moment(round.asked_at)],
    ["Client", round.client],
    ["Key", round.key],
    ["Lease", round.source === "outside" ? null : round.expires === null ? "never ends" : `${round.status === "told" ? "was until" : "until"} ${moment(round.expires)}`],
    ["Told", round.told_at === null ? "not yet" : moment(round.told_at)],
    ["Others open when asked", round.source === "outside" ? null : count(round.outstanding)],
    ["Total outcome", total ? number(round.outcome) : null],
    ["Corrections", round.amendments ? count(round.amendments) : null],
    ["Revision", count(round.revision)],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h(
    "div",
    { class: "details" },
    h("dl", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    table(
      `Round ${round.id}`,
      [
        "Option",
        { text: "Asked", numeric: true },
        ...(round.played ? [{ text: "Played", numeric: true }] : []),
        ...(round.outcome !== null && !total ? [{ text: "Outcome", numeric: true }, { text: "Per unit", numeric: true }] : []),
      ],
      names.map((name) => [
        name,
        percent(entry(round.weights, name) ?? 0),
        ...(round.played ? [percent(entry(round.played, name) ?? 0)] : []),
        ...(round.outcome !== null && !total ? [number(entry(round.outcome, name)), number(entry(round.rewards, name))] : []),
      ]),
    ),
  );
}

export function roundsCard(colourOf, { tell, changed }) {
  let summary = null;
  let store = null;
  let filter = "all";
  let page = 0;
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
  const element = card(
    "Rounds",
    h("div", { class: "tools" }, h("label", { for: select.id }, "Show"), select, status),
    place,
    h("div", { class: "pager" }, newer, older),
  );
  element.classList.add("full");

  async function choose() {
    filter = select.value;
    page = 0;
    draw();
    if (filter !== "open" && filter !== "expired") return;
    try {
      await store.ofStatus(filter);
      draw();
    } catch (error) {
      bad(error);
    }
  }

  /** Rounds older than the window that is known without gaps are left out, unless all of their status are known. */
  function found() {
    const everywhere = filter === "open" || filter === "expired";
    return store.sorted().filter((round) => (everywhere || round.revision > store.low) && FILTERS[filter][1](round));
  }

  async function turn(step) {
    const wanted = Math.max(0, page + step);
    older.disabled = true;
    try {
      while (found().length <= wanted * PAGE && !store.complete) await store.older();
      page = Math.min(wanted, Math.max(0, Math.ceil(found().length / PAGE) - 1));
    } catch (error) {
      bad(error);
    }
    draw();
  }

  async function amend(round) {
    const told = await amendDialog(summary, round);
    if (told === null) return;
    good(`Round ${told.id} is amended.`);
    changed(told);
  }

  function expand(round) {
    if (opened.has(round.id)) opened.delete(round.id);
    else opened.add(round.id);
    draw();
  }

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
    newer.parentElement.hidden = newer.disabled && older.disabled;
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
    update(newSummary, newStore) {
      summary = newSummary;
      store = newStore;
      draw();
    },
  };
}
