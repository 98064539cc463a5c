// What was earned and how much it varied; against equal weights only where that can be known.

import { chartCard, room, roundAxis, tooltip, valueAxis } from "./charts.js";
import { moment, number } from "./format.js";

const WHY_NOT = {
  chosen: "No comparison with equal weights: of the options without weight, nobody knows what they would have earned.",
  total: "No comparison with equal weights: only the mix's total is seen, not what other weights would have earned.",
  all: "No comparison with equal weights: it needs every option's outcome in every round.",
};

function lines(title, { own, equal, what, text, zero }) {
  return chartCard(title, ({ history, feedback }, colours) => {
    if (history.round.length === 0) return { empty: "Nothing told yet. Each told round adds a point." };
    const rounds = history.round.map(String);
    const mine = history[own];
    const other = history[equal] ?? null;
    if (mine.every((value) => value === null)) return { empty: "Known from the second told round on." };
    const series = [
      { id: "own", name: "This study", data: mine, shade: colours.accent, type: "solid", width: 2.5 },
      ...(other === null ? [] : [{ id: "equal", name: "Equal weights", data: other, shade: colours.second, type: "dashed", width: 2 }]),
    ];
    const last = mine.findLast((value) => value !== null);
    return {
      label: `${title}: ${number(last)} after ${history.told} told rounds.`,
      note: `${text}${other === null ? ` ${WHY_NOT[feedback] ?? WHY_NOT.all}` : ""}`,
      legend: other === null ? undefined : series.map(({ name, shade, type }) => ({ name, colour: shade, kind: type === "dashed" ? "dashes" : "stroke" })),
      height: 240,
      option: {
        grid: room(),
        tooltip: tooltip(colours, "axis", (found) => {
          if (found.length === 0) return null;
          const at = found[0].dataIndex;
          return [
            `Round ${rounds[at]}, told ${moment(history.told_at[at])}`,
            [
              ...series.map(({ name, data, shade }) => [name, number(data[at]), shade]),
              ["Reward of this round", number(history.reward[at])],
            ],
          ];
        }),
        xAxis: roundAxis(colours, rounds),
        yAxis: valueAxis(colours, undefined, { scale: !zero }),
        series: series.map(({ id, name, data, shade, type, width }) => ({
          id,
          name,
          type: "line",
          data: data.map((value) => value ?? "-"),
          symbol: rounds.length < 3 ? "circle" : "none",
          lineStyle: { color: shade, width, type },
          itemStyle: { color: shade },
          emphasis: { disabled: true },
        })),
      },
      table: {
        head: ["Round", "Told", { text: "Reward", numeric: true }, ...series.map(({ name }) => ({ text: `${what}: ${name.toLowerCase()}`, numeric: true }))],
        rows: history.round
          .map((id, k) => [String(id), moment(history.told_at[k]), number(history.reward[k]), ...series.map(({ data }) => number(data[k]))])
          .reverse(),
      },
    };
  });
}

export const rewardChart = () =>
  lines("Cumulative reward", {
    own: "cumulative_reward",
    equal: "equal_weights_cumulative_reward",
    what: "sum",
    text: "Sum of all rounds' rewards per unit, in order of telling.",
    zero: true,
  });

export const riskChart = () =>
  lines("Running risk", {
    own: "risk",
    equal: "equal_weights_risk",
    what: "sd",
    text: "Standard deviation of the rewards told so far.",
    zero: true,
  });
