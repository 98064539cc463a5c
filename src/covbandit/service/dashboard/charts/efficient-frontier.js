// The efficient frontier on the estimates, with where the study is and where it would be best.

import { chartCard, room, tooltip, valueAxis } from "./chart-card.js";
import { listed, number, percent, sentence, short } from "../lib/format.js";

const SHOWN_WEIGHTS = 6;
const GAP = 0.07;

function mainWeights(weights) {
  return Object.entries(weights ?? {})
    .filter(([, weight]) => weight > 0)
    .sort((a, b) => b[1] - a[1])
    .slice(0, SHOWN_WEIGHTS)
    .map(([name, weight]) => [name, percent(weight)]);
}

/** The strokes of an error cross, one line series. */
function cross({ mean, sd, mean_error: up, sd_error: across }) {
  const strokes = [];
  if (up !== null && up !== undefined) strokes.push([sd, mean - up], [sd, mean + up], ["-", "-"]);
  if (across !== null && across !== undefined) strokes.push([Math.max(0, sd - across), mean], [sd + across, mean]);
  return strokes;
}

const plusMinus = (value, error) => (error === null || error === undefined ? number(value) : `${number(value)} ± ${number(error)}`);

/** An axis with room beyond its points, so that none lies on the edge; it never goes below `least`. */
function padded(values, least = -Infinity) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return {
    scale: true,
    axisLine: { show: false, onZero: false },
    boundaryGap: [GAP, GAP],
    min: low - 2 * GAP * (high - low) <= least ? least : undefined,
  };
}

const MARKS = [
  { key: "current", name: "Proposed now", symbol: "diamond", hollow: true, size: 20, shade: (c) => c.second },
  { key: "optimal", name: "Best for ρ on the estimates", symbol: "circle", size: 11, shade: (c) => c.third },
];

export function frontierChart() {
  return chartCard("Efficient frontier", ({ frontier, estimates }, colours, width) => {
    if (!frontier.known) return { empty: sentence(frontier.reason ?? "not known yet") };
    const there = MARKS.filter(({ key }) => frontier[key] !== null && frontier[key] !== undefined);
    const curve = frontier.points.map((point) => [point.sd, point.mean]);
    const single = (estimates?.covariance ?? []).flatMap((row, k) =>
      row[k] !== null && row[k] >= 0 && estimates.mean[k] !== null && estimates.in_use[k]
        ? [{ name: estimates.options[k], value: [Math.sqrt(row[k]), estimates.mean[k]] }]
        : [],
    );
    const crosses = there.flatMap(({ key }) => [[frontier[key].sd, frontier[key].mean], ...cross(frontier[key])]);
    const drawn = [...curve, ...single.map(({ value }) => value), ...crosses].filter(([x]) => x !== "-");
    const crossed = there.some(({ key }) => frontier[key].mean_error !== null || frontier[key].sd_error !== null);
    return {
      label: `Line: the best estimated mean for each risk. ${there
        .map(({ key, name }) => `${name}: mean ${number(frontier[key].mean)}, risk ${number(frontier[key].sd)}.`)
        .join(" ")}`,
      note:
        "Best estimated mean for each risk, on the estimates so far." +
        (crossed ? ` Crosses: ${frontier.error_kind || "one standard error"}.` : " The errors of the points are not known."),
      legend: [
        { name: "Frontier", colour: colours.accent, kind: "stroke" },
        ...there.map(({ key, name, shade }) => ({ name, colour: shade(colours), kind: key === "current" ? "diamond" : "dot" })),
        ...(single.length ? [{ name: "Single options", colour: colours.soft, kind: "ring" }] : []),
      ],
      height: 320,
      option: {
        grid: room({ right: 26 }),
        tooltip: tooltip(colours, "item", (item) => {
          if (item.seriesId === "frontier") {
            const point = frontier.points[item.dataIndex];
            return [
              `Frontier at ρ = ${number(point.risk_aversion)}`,
              [["Mean", number(point.mean)], ["Risk (sd)", number(point.sd)], ...mainWeights(point.weights)],
            ];
          }
          if (item.seriesId === "single") {
            return [item.data.name, [["Mean", number(item.value[1])], ["Risk (sd)", number(item.value[0])]]];
          }
          const mark = MARKS.find(({ key }) => item.seriesId.startsWith(key));
          const point = frontier[mark.key];
          return [
            mark.name,
            [
              ["Mean", plusMinus(point.mean, point.mean_error)],
              ["Risk (sd)", plusMinus(point.sd, point.sd_error)],
              ...mainWeights(point.weights),
            ],
          ];
        }),
        xAxis: valueAxis(colours, "risk: standard deviation of a round's reward", padded(drawn.map(([x]) => x), 0)),
        yAxis: valueAxis(colours, "mean reward", { ...padded(drawn.map(([, y]) => y)), nameGap: 46 }),
        series: [
          {
            id: "frontier",
            type: "line",
            data: curve,
            symbol: "circle",
            symbolSize: 5,
            lineStyle: { color: colours.accent, width: 2.5 },
            itemStyle: { color: colours.accent },
          },
          {
            id: "single",
            type: "scatter",
            data: single,
            symbolSize: 8,
            itemStyle: { color: "transparent", borderColor: colours.soft, borderWidth: 1.5 },
            label: {
              show: single.length <= 8,
              position: "top",
              color: colours.soft,
              fontSize: 11,
              formatter: (item) => short(item.data.name, width < 480 ? 8 : 14),
            },
            labelLayout: { hideOverlap: true },
          },
          ...there.flatMap(({ key, symbol, size, shade, hollow }) => [
            {
              id: `${key} cross`,
              type: "line",
              data: cross(frontier[key]),
              symbol: "none",
              lineStyle: { color: shade(colours), width: 1.8 },
              itemStyle: { color: shade(colours) },
              z: 4,
              silent: true,
            },
            {
              id: key,
              type: "scatter",
              symbol,
              symbolSize: size,
              data: [[frontier[key].sd, frontier[key].mean]],
              itemStyle: hollow
                ? { color: "transparent", borderColor: shade(colours), borderWidth: 2.5 }
                : { color: shade(colours), borderColor: colours.card, borderWidth: 1 },
              z: hollow ? 6 : 5,
            },
          ]),
        ],
      },
      table: {
        head: [
          "Point",
          { text: "ρ", numeric: true },
          { text: "Mean", numeric: true },
          { text: "Risk (sd)", numeric: true },
          "Largest weights",
        ],
        rows: [
          ...there.map(({ key, name }) => [
            name,
            number(frontier.risk_aversion),
            plusMinus(frontier[key].mean, frontier[key].mean_error),
            plusMinus(frontier[key].sd, frontier[key].sd_error),
            listed(mainWeights(frontier[key].weights).map((pair) => pair.join(" "))),
          ]),
          ...frontier.points.map((point) => [
            "Frontier",
            number(point.risk_aversion),
            number(point.mean),
            number(point.sd),
            listed(mainWeights(point.weights).map((pair) => pair.join(" "))),
          ]),
        ],
      },
    };
  });
}
