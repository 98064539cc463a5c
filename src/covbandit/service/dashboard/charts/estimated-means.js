// Estimated means with bars that say how far off they may be.

import { chartCard } from "./chart-card.js";
import { axisTooltip, categoryAxis, margins, valueAxis } from "./chart-parts.js";
import { drawnOptions, drawnOptionsNote } from "./drawn-options.js";
import { count, number, short } from "../lib/format.js";

/** @import { ColourOf, Estimates } from "../lib/types.d.ts" */

/**
 * What the bars are: 95 % only where the width is a standard error, else the learner's own width in its own words.
 *
 * @param {string} widthKind
 */
function barKind(widthKind) {
  if (/^standard error/i.test(widthKind)) {
    return {
      factor: 1.96,
      words: `Bars: 95 % interval, the estimate ± 1.96 standard errors (normal approximation). Width: ${widthKind}.`,
    };
  }
  return { factor: 1, words: `Bars: the estimate ± its width. Width: ${widthKind}; not a 95 % interval.` };
}

/** @param {ColourOf} colourOf */
export function meansChart(colourOf) {
  return chartCard("Estimated means", (/** @type {Estimates} */ estimates, colours, width) => {
    const { options, mean } = estimates;
    if (mean.every((value) => value === null)) {
      const seen = estimates.count.some((value) => value !== null && value > 0);
      return {
        empty: seen
          ? "This learner has no estimate of single options (yet)."
          : "Nothing told yet. The first outcome gives the first estimates.",
      };
    }
    const kind = barKind(estimates.width_kind);
    const half = estimates.width.map((value) => (value === null ? null : kind.factor * value));
    const most = width < 480 ? 12 : 20;
    const drawn = drawnOptions(estimates);
    const labels = drawn.map((k) => short(options[k], most) + (estimates.in_use[k] ? "" : " (retired)"));
    const bars = drawn.flatMap((k, row) =>
      mean[k] === null || half[k] === null
        ? []
        : [[mean[k] - half[k], row], [mean[k] + half[k], row], ["-", row]], // "-" ends a stroke
    );
    const missing = drawn.some((k) => half[k] === null);
    return {
      label: `Dots with bars: the estimated mean reward of ${options.length} options. ${kind.words}`,
      note: kind.words + (missing ? " No bar: not known yet." : "") + drawnOptionsNote(drawn.length, options.length),
      height: 70 + Math.max(110, 30 * drawn.length),
      option: {
        grid: margins(),
        tooltip: axisTooltip(colours, (found) => {
          if (found.length === 0) return null;
          const at = drawn[found[0].value[1]];
          return [
            options[at],
            [
              ["Estimated mean", number(mean[at])],
              [kind.factor === 1 ? "± width" : "± 1.96 standard errors", number(half[at])],
              ["Seen", `${count(estimates.count[at])} ×`],
            ],
          ];
        }),
        xAxis: valueAxis(colours, "reward per unit of weight", { scale: true }),
        yAxis: categoryAxis(colours, labels, { inverse: true, axisLabel: { color: colours.text, fontSize: 12, interval: 0 } }),
        series: [
          {
            id: "bars",
            type: "line",
            data: bars,
            symbol: "rect",
            symbolSize: [2, 9],
            showAllSymbol: true,
            lineStyle: { color: colours.soft, width: 2 },
            itemStyle: { color: colours.soft },
            emphasis: { disabled: true },
            markLine: {
              silent: true,
              symbol: "none",
              animation: false,
              label: { show: false },
              lineStyle: { color: colours.soft, type: "solid", width: 1, opacity: 0.6 },
              data: [{ xAxis: 0 }],
            },
          },
          {
            id: "means",
            type: "scatter",
            symbolSize: 11,
            data: drawn.flatMap((k, row) =>
              mean[k] === null
                ? []
                : [
                    {
                      value: [mean[k], row],
                      itemStyle: { color: colourOf(options[k]), opacity: estimates.in_use[k] ? 1 : 0.5, borderColor: colours.card, borderWidth: 1 },
                    },
                  ],
            ),
            z: 3,
          },
        ],
      },
      table: {
        head: [
          "Option",
          { text: "Estimated mean", numeric: true },
          { text: "Width", numeric: true },
          ...(kind.factor === 1 ? [] : [{ text: "95 % from", numeric: true }, { text: "to", numeric: true }]),
          { text: "Seen", numeric: true },
        ],
        rows: options.map((name, k) => [
          name + (estimates.in_use[k] ? "" : " (retired)"),
          number(mean[k]),
          number(estimates.width[k]),
          ...(kind.factor === 1
            ? []
            : half[k] === null || mean[k] === null
              ? [number(null), number(null)]
              : [number(mean[k] - half[k]), number(mean[k] + half[k])]),
          count(estimates.count[k]),
        ]),
      },
    };
  });
}
