// All studies at a glance.

import * as api from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { startPolling } from "../lib/polling.js";
import { since } from "../lib/relative-times.js";
import { feedbackWords } from "../lib/study-terms.js";

/** @import { Summary, View } from "../lib/types.d.ts" */

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} text
 * @property {(study: Summary) => string | number} of what it is sorted by
 * @property {boolean} [less] whether narrow pages leave it out
 * @property {boolean} [numeric]
 * @property {string} [title]
 */

const EVERY = 5000;

/** @type {Column[]} */
const COLUMNS = [
  { key: "name", text: "Study", of: (s) => s.name.toLowerCase() },
  { key: "learner", text: "Learner", of: (s) => s.learner_class, less: true },
  { key: "feedback", text: "Feedback", of: (s) => s.feedback, less: true },
  { key: "told", text: "Told", of: (s) => s.told, numeric: true },
  { key: "open", text: "Open", of: (s) => s.open, numeric: true },
  { key: "expired", text: "Overdue", of: (s) => s.expired, numeric: true, title: "Lease ended, outcome still missing" },
  { key: "last", text: "Last told", of: (s) => (s.last_told_at === null ? 0 : Date.parse(s.last_told_at)) },
];

/** @param {string} name */
export const studyLink = (name) => `#/study/${encodeURIComponent(name)}`;

/** @type {View} */
export async function showStudies(main, _name, wanted) {
  let studies = await api.studies();
  if (!wanted()) return () => {}; // the user went elsewhere meanwhile
  let order = { key: "last", down: true };
  let sought = "";

  const search = h("input", {
    type: "search",
    id: "search",
    placeholder: "Name or option",
    oninput: () => {
      sought = search.value.trim().toLowerCase();
      draw();
    },
  });
  const place = h("div", {});
  const tools = h("div", { class: "tools" }, h("label", { for: "search" }, "Search"), search);

  /** @param {string} key of a column */
  function sortedBy(key) {
    order = { key, down: order.key === key ? !order.down : key !== "name" && key !== "learner" && key !== "feedback" };
    draw();
  }

  /** @param {Column} column */
  function heading(column) {
    const active = order.key === column.key;
    return h(
      "th",
      {
        role: "columnheader",
        scope: "col",
        class: [column.numeric && "number", column.less && "less"].filter(Boolean).join(" ") || null,
        "aria-sort": active ? (order.down ? "descending" : "ascending") : null,
        title: column.title,
      },
      h(
        "button",
        { type: "button", class: "sort", data: { focus: column.key }, onclick: () => sortedBy(column.key) },
        column.text,
        h("span", { "aria-hidden": "true" }, active ? (order.down ? " ↓" : " ↑") : ""),
      ),
    );
  }

  // Roles are said again because a narrow page lays rows out as blocks, which would take them away.
  const numeric = { role: "cell", class: "number" };

  /** @param {Summary} study */
  function rowOf(study) {
    return h(
      "tr",
      { role: "row" },
      h(
        "th",
        { role: "rowheader", scope: "row" },
        h("a", { class: "name", href: studyLink(study.name), data: { focus: `study ${study.name}` } }, study.name),
        h("div", { class: "sub" }, `${study.options.length} options`, study.retired.length ? `, ${study.retired.length} retired` : ""),
      ),
      h("td", { role: "cell", class: "less" }, study.learner_class),
      h("td", { role: "cell", class: "less" }, feedbackWords[study.feedback]?.short ?? study.feedback),
      h("td", { ...numeric, data: { label: "Told" } }, count(study.told)),
      h("td", { ...numeric, data: { label: "Open" } }, study.open ? h("span", { class: "badge open" }, count(study.open)) : "0"),
      h("td", { ...numeric, data: { label: "Overdue" } }, study.expired ? h("span", { class: "badge expired" }, count(study.expired)) : "0"),
      h("td", { role: "cell", data: { label: "Last told" } }, since(study.last_told_at, "never")),
    );
  }

  function draw() {
    tools.hidden = studies.length === 0;
    if (studies.length === 0) {
      fill(
        place,
        h(
          "div",
          { class: "empty" },
          h("h2", {}, "No studies yet"),
          h("p", {}, "A study proposes weights over your options, learns from what they earned, and remembers all of it."),
          h("ol", { class: "steps" }, [
            h("li", {}, h("strong", {}, "Create"), " it: options, what you get to see, how much you mind risk."),
            h("li", {}, h("strong", {}, "Ask"), " for weights whenever you decide."),
            h("li", {}, h("strong", {}, "Tell"), " what happened, now or weeks later."),
          ]),
          h("p", {}, h("a", { class: "button primary", href: "#/new" }, "Create a study")),
        ),
      );
      return;
    }
    const column = COLUMNS.find((c) => c.key === order.key) ?? COLUMNS[0];
    const found = studies
      .filter((s) => [s.name, ...s.options, s.learner_class].some((text) => text.toLowerCase().includes(sought)))
      .sort((a, b) => {
        const [x, y] = [column.of(a), column.of(b)];
        const sign = x < y ? -1 : x > y ? 1 : a.name < b.name ? -1 : 1;
        return order.down ? -sign : sign;
      });
    fill(
      place,
      found.length === 0
        ? h("p", { class: "empty" }, `No study matches “${search.value.trim()}”.`)
        : h(
            "div",
            { class: "card flush scroll" },
            h(
              "table",
              { class: "studies", role: "table" },
              h("caption", { class: "unseen" }, "Studies"),
              h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, COLUMNS.map(heading))),
              h("tbody", { role: "rowgroup" }, found.map(rowOf)),
            ),
          ),
    );
  }

  fill(
    main,
    h(
      "div",
      { class: "title" },
      h("h1", {}, "Studies"),
      h("a", { class: "button primary", href: "#/new" }, "New study"),
    ),
    tools,
    place,
  );
  draw();

  const polling = startPolling(async (signal) => {
    const answer = await api.studies({ signal, background: true });
    if (JSON.stringify(answer) !== JSON.stringify(studies)) {
      studies = answer;
      draw();
    }
  }, EVERY);
  return () => polling.stop();
}
