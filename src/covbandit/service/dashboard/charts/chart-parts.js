// Parts that the charts' ECharts options share: axes, tooltips, margins.

import { h } from "../lib/dom.js";
import { tick } from "../lib/format.js";

/** @import { ChartColours, ChartOption, Numbers, PointedAt, TooltipRows } from "../lib/types.d.ts" */

/**
 * A tooltip whose content is made of elements: a name in it stays text.
 *
 * @param {ChartColours} colours
 * @param {"axis" | "item"} trigger
 * @param {(parameters: any) => TooltipRows} rows
 * @returns {ChartOption}
 */
function tooltip(colours, trigger, rows) {
  return {
    trigger,
    confine: true,
    transitionDuration: 0,
    backgroundColor: colours.card,
    borderColor: colours.line,
    textStyle: { color: colours.text, fontSize: 13 },
    axisPointer: { type: "line", lineStyle: { color: colours.soft }, label: { show: false } },
    formatter: (/** @type {unknown} */ parameters) => {
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

/**
 * A tooltip about all points at one place of the axis.
 *
 * @param {ChartColours} colours
 * @param {(points: PointedAt[]) => TooltipRows} rows
 */
export const axisTooltip = (colours, rows) => tooltip(colours, "axis", rows);

/**
 * A tooltip about one point.
 *
 * @param {ChartColours} colours
 * @param {(point: PointedAt) => TooltipRows} rows
 */
export const pointTooltip = (colours, rows) => tooltip(colours, "item", rows);

/**
 * @param {ChartColours} colours
 * @param {string} [name]
 * @param {ChartOption} more
 * @returns {ChartOption}
 */
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

/**
 * The axis of told rounds, by their places in the order of telling: their numbers may go back and forth.
 *
 * @param {ChartColours} colours
 * @param {number[]} places
 */
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

/**
 * Points on that axis.
 *
 * @param {number[]} places
 * @param {Numbers} values
 */
export const toldPoints = (places, values) =>
  places.length === 1 ? values.map((value) => value ?? "-") : values.map((value, k) => [places[k], value ?? "-"]);

/**
 * @param {ChartColours} colours
 * @param {string[]} data
 * @param {ChartOption} more
 * @returns {ChartOption}
 */
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

/** @param {ChartOption} more */
export const margins = (more = {}) => ({ left: 12, right: 18, top: 14, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all", ...more });
