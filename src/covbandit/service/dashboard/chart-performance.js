// What the study's proposals earned and how much it varied; against equal weights only where that can be known.

import { chartCard, room, toldAxis, toldPoints, tooltip, valueAxis } from "./charts.js";
import { count, moment, number, plural } from "./format.js";

const WHY_NOT = {
  chosen: "No comparison with equal weights: of the options without weight, nobody knows what they would have earned.",
  total: "No comparison with equal weights: only the mix's total is seen, not what other weights would have earned.",
  all: "No comparison with equal weights: it needs every option's outcome in every round.",
};

function lines(title, { own, equal, what, text, zero }) {
  return chartCard(title, ({ history, feedback }, colours) => {
    if (history.told === 0) return { empty: "Nothing told yet. Each told round adds a point." };
    const outside = history.told - history.asked;
    if (history.asked === 0) {
      return { empty: `All ${plural(outside, "told round")} came from outside. This starts with the first round that the study proposes.` };
    }
    const drawn = history.source.flatMap((source, k) => (source === "asked" ? [k] : []));
    const pick = (values) => drawn.map((k) => values[k]);
    const [place, round, toldAt, reward] = [history.place, history.round, history.told_at, history.reward].map(pick);
    const mine = pick(history[own]);
    const other = history[equal] ? pick(history[equal]) : null;
    if (mine.every((value) => value === null)) return { empty: "Known from the second told round on." };
    const series = [
      { id: "own", name: "This study", data: mine, shade: colours.accent, type: "solid", width: 2.5 },
      ...(other === null ? [] : [{ id: "equal", name: "Equal weights", data: other, shade: colours.second, type: "dashed", width: 2 }]),
    ];
    const last = mine.findLast((value) => value !== null);
    return {
      label: `${title}: ${number(last)} after ${plural(history.asked, "told round")}${outside ? " that the study proposed" : ""}.`,
      note: [
        text,
        outside ? `Only the ${plural(history.asked, "round")} that the study proposed; ${count(outside)} told from outside ${outside === 1 ? "is" : "are"} left out.` : "",
        other === null ? (WHY_NOT[feedback] ?? WHY_NOT.all) : "",
      ].filter(Boolean).join(" "),
      legend: other === null ? undefined : series.map(({ name, shade, type }) => ({ name, colour: shade, kind: type === "dashed" ? "dashes" : "stroke" })),
      height: 240,
      option: {
        grid: room(),
        tooltip: tooltip(colours, "axis", (found) => {
          if (found.length === 0) return null;
          const at = found[0].dataIndex;
          return [
            `Round ${round[at]}, told ${moment(toldAt[at])}`,
            [
              ...series.map(({ name, data, shade }) => [name, number(data[at]), shade]),
              ["Reward of this round", number(reward[at])],
            ],
          ];
        }),
        xAxis: toldAxis(colours, place),
        yAxis: valueAxis(colours, undefined, { scale: !zero }),
        series: series.map(({ id, name, data, shade, type, width }) => ({
          id,
          name,
          type: "line",
          data: toldPoints(place, data),
          symbol: place.length < 3 ? "circle" : "none",
          lineStyle: { color: shade, width, type },
          itemStyle: { color: shade },
          emphasis: { disabled: true },
        })),
      },
      table: {
        head: ["Round", "Told", { text: "Reward", numeric: true }, ...series.map(({ name }) => ({ text: `${what}: ${name.toLowerCase()}`, numeric: true }))],
        rows: round
          .map((id, k) => [String(id), moment(toldAt[k]), number(reward[k]), ...series.map(({ data }) => number(data[k]))])
          .reverse(),
      },
    };
  });
}

export const rewardChart = () =>
  lines("Cumulative reward", {
    own: "asked_cumulative_reward",
    equal: "asked_equal_weights_cumulative_reward",
    what: "sum",
    text: "Sum of the rounds' rewards per unit, in order of telling.",
    zero: true,
  });

export const riskChart = () =>
  lines("Running risk", {
    own: "asked_risk",
    equal: "asked_equal_weights_risk",
    what: "sd",
    text: "Standard deviation of the rewards so far.",
    zero: true,
  });
