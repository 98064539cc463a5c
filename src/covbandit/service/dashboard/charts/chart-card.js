// A chart in a card, with a text alternative: its data as a table, one button away.

import { fill, h, newId, table } from "../lib/dom.js";
import { tick } from "../lib/format.js";
import { chartColours } from "./colours.js";
import { errorBox } from "../lib/messages.js";
import { reducedMotion } from "../lib/theme.js";

const { echarts } = window;

/** A card with a heading; `note` says what is shown, in words. */
export function card(title, ...children) {
  const heading = newId("card");
  return h("section", { class: "card", "aria-labelledby": heading }, h("h2", { id: heading }, title), ...children);
}

/**
 * A chart card.
 *
 * `draw(data, colours, width)` returns {option, table: {head, rows}, label, note, legend, height}, or {empty: text}
 * when there is nothing to see yet.
 */
export function chartCard(title, draw) {
  const note = h("p", { class: "note" });
  const legend = h("ul", { class: "legend" });
  const canvas = h("div", { class: "chart", role: "img", hidden: true });
  const place = h("div", { hidden: true, id: newId("data") });
  const toggle = h(
    "button",
    { type: "button", class: "quiet small", hidden: true, "aria-expanded": "false", "aria-controls": place.id, onclick: switchTable },
    "Show as table",
  );
  const trouble = h("div", { class: "empty" }, h("p", {}, "Loading…"));
  const element = card(title, note, legend, canvas, trouble, toggle, place);
  let chart = null;
  let data = null;
  let shown = null;

  function switchTable() {
    place.hidden = !place.hidden;
    toggle.setAttribute("aria-expanded", String(!place.hidden));
    toggle.textContent = place.hidden ? "Show as table" : "Hide table";
    showTable();
  }

  function showTable() {
    if (!place.hidden && shown?.table) fill(place, table(`${title}, as a table`, shown.table.head, shown.table.rows));
  }

  function render() {
    if (data === null) return;
    shown = draw(data, chartColours(), element.clientWidth || 600);
    const empty = shown.empty !== undefined;
    fill(note, shown.note ?? "");
    note.hidden = !shown.note;
    fill(
      legend,
      (shown.legend ?? []).map(({ name, colour, kind = "square" }) =>
        h("li", {}, h("span", { class: `key ${kind}`, style: { color: colour } }), name),
      ),
    );
    legend.hidden = empty || !shown.legend;
    canvas.hidden = empty;
    toggle.hidden = empty;
    trouble.hidden = !empty;
    fill(trouble, empty ? h("p", {}, shown.empty) : null);
    if (empty) {
      place.hidden = true;
      return;
    }
    canvas.setAttribute("aria-label", `${shown.label} Use “Show as table” for the numbers.`);
    canvas.style.height = `${shown.height ?? 280}px`;
    if (chart === null) chart = echarts.init(canvas, null, { renderer: "svg" });
    else chart.resize(); // to the height just set, before anything is laid out
    const still = reducedMotion();
    chart.setOption(
      { animation: !still, animationDuration: 0, animationDurationUpdate: still ? 0 : 250, ...shown.option },
      { replaceMerge: ["series", "xAxis", "yAxis", "grid"] },
    );
    showTable();
  }

  const watcher = new ResizeObserver(() => {
    if (chart !== null && !canvas.hidden && canvas.clientWidth > 0) chart.resize();
  });
  watcher.observe(canvas);
  document.addEventListener("themechange", render);
  return {
    element,
    update(value) {
      data = value;
      render();
    },
    fail(error) {
      data = null;
      for (const part of [note, legend, canvas, toggle, place]) part.hidden = true;
      trouble.hidden = false;
      fill(trouble, errorBox(error));
    },
    destroy() {
      watcher.disconnect();
      document.removeEventListener("themechange", render);
      chart?.dispose();
    },
  };
}

// Parts of options -----------------------------------------------------------------------------------------------------

/** A tooltip whose content is made of elements: a name in it stays text. */
export function tooltip(colours, trigger, rows) {
  return {
    trigger,
    confine: true,
    transitionDuration: 0,
    backgroundColor: colours.card,
    borderColor: colours.line,
    textStyle: { color: colours.text, fontSize: 13 },
    axisPointer: { type: "line", lineStyle: { color: colours.soft }, label: { show: false } },
    formatter: (parameters) => {
      const found = rows(parameters);
      if (found === null) return "";
      const [title, lines] = found;
      return h(
        "div",
        { class: "tip" },
        h("strong", {}, title),
        lines.map(([name, value, shade]) =>
          h(
            "div",
            { class: "tip-row" },
            h("span", {}, shade ? h("span", { class: "key square", style: { color: shade } }) : null, name),
            h("span", { class: "tip-value" }, value),
          ),
        ),
      );
    },
  };
}

export function valueAxis(colours, name, more = {}) {
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: name === undefined ? 0 : 28,
    nameTextStyle: { color: colours.soft, fontSize: 12 },
    axisLabel: { color: colours.soft, fontSize: 12, hideOverlap: true, formatter: tick },
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: colours.line } },
    ...more,
  };
}

/** The axis of told rounds, by their places in the order of telling: their numbers may go back and forth. */
export function toldAxis(colours, places) {
  const [first, last] = [places[0], places.at(-1)];
  const name = { name: "told, in order", nameLocation: "middle", nameGap: 26, nameTextStyle: { color: colours.soft, fontSize: 12 } };
  if (places.length === 1) return categoryAxis(colours, [String(first)], name);
  return valueAxis(colours, name.name, {
    ...name,
    min: first,
    max: last,
    minInterval: 1,
    axisLabel: { color: colours.soft, fontSize: 12, hideOverlap: true, showMinLabel: true, showMaxLabel: true },
    axisLine: { show: true, lineStyle: { color: colours.line } },
    splitLine: { show: false },
  });
}

/** Points on that axis. */
export const toldPoints = (places, values) =>
  places.length === 1 ? values.map((value) => value ?? "-") : values.map((value, k) => [places[k], value ?? "-"]);

export function categoryAxis(colours, data, more = {}) {
  return {
    type: "category",
    data,
    axisLabel: { color: colours.soft, fontSize: 12, hideOverlap: true },
    axisLine: { lineStyle: { color: colours.line } },
    axisTick: { show: false },
    ...more,
  };
}

export const room = (more = {}) => ({ left: 12, right: 18, top: 14, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all", ...more });
