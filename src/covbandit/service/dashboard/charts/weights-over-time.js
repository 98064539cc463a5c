// What was played over time, as areas stacked to one.

import { chartCard } from "./chart-card.js";
import { axisTooltip, margins, toldAxis, toldPoints, valueAxis } from "./chart-parts.js";
import { drawnColumns } from "./drawn-options.js";
import { count, moment, percent, plural } from "../lib/format.js";

/** @import { ChartColours, ColourOf, History, TooltipRow } from "../lib/types.d.ts" */
/** @import { Column } from "./drawn-options.js" */

const MOST_ROWS = 12; // of a tooltip
const MOST_AREAS = 24; // as many as there are colours
const MOST_BORDERED = 100; // points; with more, the borders would hide the areas
const OUTSIDE = "told from outside";

/**
 * From where to where rounds were told from outside, on the axis of told rounds.
 *
 * @param {History} history
 */
function outsideStretches({ place, source }) {
  /** @type {[from: number, to: number][]} */
  const found = [];
  for (const [k, each] of source.entries()) {
    if (each !== "outside") continue;
    const from = k === 0 ? place[k] : (place[k - 1] + place[k]) / 2;
    const to = k === place.length - 1 ? place[k] : (place[k] + place[k + 1]) / 2;
    if (source[k - 1] === "outside") found[found.length - 1][1] = to;
    else found.push([from, to]);
  }
  return found;
}

/**
 * Those stretches as bands over the areas; the words are on the widest, if it has room for them.
 *
 * @param {History} history
 * @param {ChartColours} colours
 * @param {number} width
 */
function bands(history, colours, width) {
  const stretches = outsideStretches(history);
  const span = history.place[history.place.length - 1] - history.place[0];
  const widest = Math.max(...stretches.map(([from, to]) => to - from));
  const named = (widest / span) * (width - 100) > 130 ? stretches.findIndex(([from, to]) => to - from === widest) : -1;
  return {
    silent: true,
    animation: false,
    z: 6,
    itemStyle: { color: colours.card, opacity: 0.5 },
    label: { show: false },
    data: stretches.map(([from, to], k) => [
      {
        xAxis: from,
        name: k === named ? OUTSIDE : "",
        label: {
          show: k === named,
          position: "inside",
          color: colours.text,
          fontSize: 12,
          backgroundColor: colours.card,
          borderRadius: 4,
          padding: [4, 8],
        },
      },
      { xAxis: to },
    ]),
  };
}

/** @param {ColourOf} colourOf */
export function weightsChart(colourOf) {
  return chartCard("Weights over time", (/** @type {History} */ history, colours, width) => {
    if (history.round.length === 0) return { empty: "Nothing told yet. Ask for weights, then tell what happened." };
    const imagined = history.asked === 0 ? (history.would_have_weights ?? null) : null;
    const columns = drawnColumns(imagined ?? history.weights, MOST_AREAS);
    /** @param {Column} column */
    const shade = ({ name, rest }) => (rest ? colours.line : colourOf(name));
    const { place, round, source } = history;
    const thinned = history.points < history.told;
    const lone = round.length === 1;
    const outside = imagined === null ? history.told - history.asked : 0;
    const border = round.length > MOST_BORDERED ? 0 : 0.5;
    return {
      label: `Stacked areas: the weights ${imagined === null ? "played" : "that the study would have proposed"} in ${plural(history.told, "told round")}, option by option.`,
      note:
        (imagined === null
          ? "Weights really played, in order of telling"
          : "What the study would have held, had it been asked before each round from outside; what was really played is in the table of rounds") +
        (thinned ? `; ${plural(history.points, "round")} of ${count(history.told)} are drawn.` : ".") +
        (outside ? ` Faded: ${OUTSIDE}, not proposed by the study (${plural(outside, "round")}).` : ""),
      legend: columns.map((column) => ({ name: column.name, colour: shade(column) })),
      height: 290,
      option: {
        grid: margins(),
        tooltip: axisTooltip(colours, (found) => {
          if (found.length === 0) return null;
          const at = found[0].dataIndex;
          const held = columns.filter(({ values }) => values[at] > 0).sort((a, b) => b.values[at] - a.values[at]);
          /** @type {TooltipRow[]} */
          const listed = held.slice(0, MOST_ROWS).map((column) => [column.name, percent(column.values[at]), shade(column)]);
          if (held.length > MOST_ROWS) listed.push([`${held.length - MOST_ROWS} more`, "", null]);
          if (imagined !== null) return [`Round ${round[at]}: would have held`, listed];
          return [`Round ${round[at]}, ${source[at] === "outside" ? OUTSIDE : "told"} ${moment(history.told_at[at])}`, listed];
        }),
        xAxis: toldAxis(colours, place),
        yAxis: valueAxis(colours, undefined, {
          min: 0,
          max: 1,
          axisLabel: { color: colours.soft, formatter: (/** @type {number} */ value) => `${Math.round(100 * value)} %` },
        }),
        series: columns.map((column, k) => ({
          id: column.rest ? "rest" : `option ${column.name}`,
          name: column.name,
          type: lone ? "bar" : "line",
          stack: "weights",
          step: lone ? undefined : "middle",
          symbol: "none",
          barMaxWidth: 90,
          lineStyle: { width: border, color: colours.card },
          areaStyle: lone ? undefined : { color: shade(column), opacity: 0.9 },
          itemStyle: { color: shade(column) },
          emphasis: { disabled: true },
          data: toldPoints(place, column.values),
          markArea: k === columns.length - 1 && outside && !lone ? bands(history, colours, width) : undefined,
        })),
      },
      table: {
        head: ["Round", "Told", "Source", ...columns.map(({ name: text }) => ({ text, numeric: true }))],
        rows: history.round
          .map((id, k) => [String(id), moment(history.told_at[k]), source[k], ...columns.map(({ values }) => percent(values[k]))])
          .reverse(),
      },
    };
  });
}
