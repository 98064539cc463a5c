// A chart in a card, with a text alternative: its data as a table, one button away.

import { chartColours } from "./colours.js";
import { card } from "../lib/card.js";
import { fill, h, newId, table } from "../lib/dom.js";
import { errorBox } from "../lib/messages.js";
import { reducedMotion } from "../lib/theme.js";

/** @import { ChartColours, Drawing, NoDrawing, Panel } from "../lib/types.d.ts" */

/**
 * A chart card.
 *
 * @template Data
 * @param {string} title
 * @param {(data: Data, colours: ChartColours, width: number) => Drawing | NoDrawing} draw returns {empty: text} when
 *   there is nothing to see yet
 * @returns {Panel<Data>}
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
  /** @type {ReturnType<typeof echarts.init> | null} */
  let chart = null;
  /** @type {Data | null} */
  let data = null;
  /** @type {Drawing | null} */
  let shown = null;

  function switchTable() {
    place.hidden = !place.hidden;
    toggle.setAttribute("aria-expanded", String(!place.hidden));
    toggle.textContent = place.hidden ? "Show as table" : "Hide table";
    showTable();
  }

  function showTable() {
    if (!place.hidden && shown !== null) fill(place, table(`${title}, as a table`, shown.table.head, shown.table.rows));
  }

  function render() {
    if (data === null) return;
    const found = draw(data, chartColours(), element.clientWidth || 600);
    shown = found.empty === undefined ? found : null;
    fill(note, shown?.note ?? "");
    note.hidden = !shown?.note;
    fill(
      legend,
      (shown?.legend ?? []).map(({ name, colour, kind = "square" }) =>
        h("li", {}, h("span", { class: `key ${kind}`, style: { color: colour } }), name),
      ),
    );
    legend.hidden = !shown?.legend;
    canvas.hidden = shown === null;
    toggle.hidden = shown === null;
    trouble.hidden = shown !== null;
    fill(trouble, shown === null ? h("p", {}, found.empty) : null);
    if (shown === null) {
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
