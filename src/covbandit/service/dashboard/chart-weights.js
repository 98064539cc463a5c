// What was played over time, as areas stacked to one.

import { chartCard, room, roundAxis, tooltip, valueAxis } from "./charts.js";
import { moment, percent, plural } from "./format.js";
import { leadingColumns } from "./leading.js";

const MOST_ROWS = 12; // of a tooltip
const MOST_AREAS = 24; // as many as there are colours

export function weightsChart(colourOf) {
  return chartCard("Weights over time", (history, colours) => {
    if (history.round.length === 0) return { empty: "Nothing told yet. Ask for weights, then tell what happened." };
    const columns = leadingColumns(history.weights, MOST_AREAS);
    const shade = ({ name, rest }) => (rest ? colours.line : colourOf(name));
    const rounds = history.round.map(String);
    const thinned = history.points < history.told;
    const lone = rounds.length === 1;
    return {
      label: `Stacked areas: the weights played in ${plural(history.told, "told round")}, option by option.`,
      note: thinned
        ? `Weights really played, in order of telling; ${plural(history.points, "round")} of ${history.told} are drawn.`
        : "Weights really played, in order of telling.",
      legend: columns.map((column) => ({ name: column.name, colour: shade(column) })),
      height: 290,
      option: {
        grid: room(),
        tooltip: tooltip(colours, "axis", (found) => {
          if (found.length === 0) return null;
          const at = found[0].dataIndex;
          const rows = columns
            .map((column) => [column.name, column.values[at], shade(column)])
            .filter(([, weight]) => weight > 0)
            .sort((a, b) => b[1] - a[1]);
          const listed = rows.slice(0, MOST_ROWS).map(([name, weight, key]) => [name, percent(weight), key]);
          if (rows.length > MOST_ROWS) listed.push([`${rows.length - MOST_ROWS} more`, "", null]);
          return [`Round ${rounds[at]}, told ${moment(history.told_at[at])}`, listed];
        }),
        xAxis: roundAxis(colours, rounds),
        yAxis: valueAxis(colours, undefined, {
          min: 0,
          max: 1,
          axisLabel: { color: colours.soft, formatter: (value) => `${Math.round(100 * value)} %` },
        }),
        series: columns.map((column) => ({
          id: column.rest ? "rest" : `option ${column.name}`,
          name: column.name,
          type: lone ? "bar" : "line",
          stack: "weights",
          step: lone ? undefined : "middle",
          symbol: "none",
          barMaxWidth: 90,
          lineStyle: { width: 0.5, color: colours.card },
          areaStyle: lone ? undefined : { color: shade(column), opacity: 0.9 },
          itemStyle: { color: shade(column) },
          emphasis: { disabled: true },
          data: column.values,
        })),
      },
      table: {
        head: ["Round", "Told", ...columns.map(({ name: text }) => ({ text, numeric: true }))],
        rows: history.round
          .map((id, k) => [String(id), moment(history.told_at[k]), ...columns.map(({ values }) => percent(values[k]))])
          .reverse(),
      },
    };
  });
}
