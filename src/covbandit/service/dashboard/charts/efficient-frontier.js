// The efficient frontier on the estimates, with where the study is and where it would be best.

import { chartCard } from "./chart-card.js";
import { margins, pointTooltip, valueAxis } from "./chart-parts.js";
import { listed, number, percent, sentence, short } from "../lib/format.js";

/** @import { ChartColours, Estimates, Frontier, MarkedPoint, PointedAt, Weights } from "../lib/types.d.ts" */

/**
 * How one of the two marked points is drawn.
 *
 * @typedef {object} Mark
 * @property {"current" | "optimal"} key
 * @property {string} name
 * @property {string} symbol
 * @property {boolean} hollow
 * @property {number} size
 * @property {(colours: ChartColours) => string} shade
 */

const SHOWN_WEIGHTS = 6;
const GAP = 0.07;
/** @type {["-", "-"]} */
const PEN_UP = ["-", "-"]; // ends a stroke

/** @type {(end: [number, number] | typeof PEN_UP) => end is [number, number]} */
const isPoint = (end) => end !== PEN_UP;

/**
 * The largest weights by name, as text.
 *
 * @param {Weights} weights
 * @returns {[name: string, weight: string][]}
 */
function mainWeights(weights) {
  return Object.entries(weights)
    .filter(([, weight]) => weight > 0)
    .sort((a, b) => b[1] - a[1])
    .slice(0, SHOWN_WEIGHTS)
    .map(([name, weight]) => [name, percent(weight)]);
}

/**
 * The strokes of an error cross, one line series.
 *
 * @param {MarkedPoint} point
 */
function cross({ mean, sd, mean_error: up, sd_error: across }) {
  /** @type {([number, number] | typeof PEN_UP)[]} */
  const strokes = [];
  if (up !== null) strokes.push([sd, mean - up], [sd, mean + up], PEN_UP);
  if (across !== null) strokes.push([Math.max(0, sd - across), mean], [sd + across, mean]);
  return strokes;
}

/**
 * @param {number} value
 * @param {number | null} error
 */
const plusMinus = (value, error) => (error === null ? number(value) : `${number(value)} ± ${number(error)}`);

/**
 * An axis with room beyond its points, so that none lies on the edge; it never goes below `least`.
 *
 * @param {number[]} values
 * @param {number} least
 */
function padded(values, least = -Infinity) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return {
    scale: true,
    axisLine: { show: false, onZero: false },
    boundaryGap: [GAP, GAP],
    min: low - 2 * GAP * (high - low) <= least ? least : undefined,
  };
}

/** @type {Mark[]} */
const MARKS = [
  { key: "current", name: "Proposed now", symbol: "diamond", hollow: true, size: 20, shade: (c) => c.second },
  { key: "optimal", name: "Best for ρ on the estimates", symbol: "circle", hollow: false, size: 11, shade: (c) => c.third },
];

export function frontierChart() {
  return chartCard("Efficient frontier", (/** @type {{frontier: Frontier, estimates: Estimates}} */ { frontier, estimates }, colours, width) => {
    if (!frontier.known) return { empty: sentence(frontier.reason ?? "not known yet") };
    const marked = MARKS.flatMap((mark) => {
      const point = frontier[mark.key];
      return point ? [{ ...mark, point }] : [];
    });
    const curve = frontier.points.map((point) => [point.sd, point.mean]);
    const single = (estimates.covariance ?? []).flatMap((row, k) => {
      const [variance, mean] = [row[k], estimates.mean[k]];
      return variance !== null && variance >= 0 && mean !== null && estimates.in_use[k]
        ? [{ name: estimates.options[k], value: [Math.sqrt(variance), mean] }]
        : [];
    });
    const crosses = marked.flatMap(({ point }) => [[point.sd, point.mean], ...cross(point).filter(isPoint)]);
    const drawn = [...curve, ...single.map(({ value }) => value), ...crosses];
    const crossed = marked.some(({ point }) => point.mean_error !== null || point.sd_error !== null);
    return {
      label: `Line: the best estimated mean for each risk. ${marked
        .map(({ name, point }) => `${name}: mean ${number(point.mean)}, risk ${number(point.sd)}.`)
        .join(" ")}`,
      note:
        "Best estimated mean for each risk, on the estimates so far." +
        (crossed ? ` Crosses: ${frontier.error_kind || "one standard error"}.` : " The errors of the points are not known."),
      legend: [
        { name: "Frontier", colour: colours.accent, kind: "stroke" },
        ...marked.map(({ key, name, shade }) => ({ name, colour: shade(colours), kind: key === "current" ? "diamond" : "dot" })),
        ...(single.length ? [{ name: "Single options", colour: colours.soft, kind: "ring" }] : []),
      ],
      height: 320,
      option: {
        grid: margins({ right: 26 }),
        tooltip: pointTooltip(colours, (item) => {
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
          const mark = marked.find(({ key }) => item.seriesId.startsWith(key));
          if (mark === undefined) return null;
          const { name, point } = mark;
          return [
            name,
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
              formatter: (/** @type {PointedAt} */ item) => short(item.data.name, width < 480 ? 8 : 14),
            },
            labelLayout: { hideOverlap: true },
          },
          ...marked.flatMap(({ key, symbol, size, shade, hollow, point }) => [
            {
              id: `${key} cross`,
              type: "line",
              data: cross(point),
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
              data: [[point.sd, point.mean]],
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
          ...marked.map(({ name, point }) => [
            name,
            number(frontier.risk_aversion),
            plusMinus(point.mean, point.mean_error),
            plusMinus(point.sd, point.sd_error),
            listed(mainWeights(point.weights).map((pair) => pair.join(" "))),
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
