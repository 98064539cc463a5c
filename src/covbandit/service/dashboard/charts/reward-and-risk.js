// What the study's proposals earned and how much it varied; against equal weights only where that can be known.

import { chartCard, room, toldAxis, toldPoints, tooltip, valueAxis } from "./chart-card.js";
import { count, moment, number, plural } from "../lib/format.js";

const WHY_NOT = {
  chosen: "No comparison with equal weights: of the options without weight, nobody knows what they would have earned.",
  total: "No comparison with equal weights: only the mix's total is seen, not what other weights would have earned.",
  all: "No comparison with equal weights: it needs every option's outcome in every round.",
};

/** Why it is not known what the study would have earned in rounds from outside. */
const WHY_NOT_IMAGINED = {
  chosen: "What the study would have earned in them is not known: only the options that were played there were seen.",
  total: "What the study would have earned in them is not known: only the total of what was played there was seen.",
  all: "What the study would have earned in them was not worked out: that takes every option's outcome per unit of weight, no option ever retired, and at most 5,000 rounds.",
};

/** The rounds that the study proposed: what it has to answer for. */
function proposed(history, { own, equal, text }, feedback, colours) {
  const outside = history.told - history.asked;
  const drawn = history.source.flatMap((source, k) => (source === "asked" ? [k] : []));
  const pick = (values) => drawn.map((k) => values[k]);
  const other = history[equal] ? pick(history[equal]) : null;
  return {
    drawn,
    series: [
      { id: "own", name: "This study", data: pick(history[own]), shade: colours.accent, type: "solid", width: 2.5 },
      ...(other === null ? [] : [{ id: "equal", name: "Equal weights", data: other, shade: colours.second, type: "dashed", width: 2 }]),
    ],
    after: `after ${plural(history.asked, "told round")}${outside ? " that the study proposed" : ""}`,
    note: [
      text,
      outside ? `Only the ${plural(history.asked, "round")} that the study proposed; ${count(outside)} told from outside ${outside === 1 ? "is" : "are"} left out.` : "",
      other === null ? (WHY_NOT[feedback] ?? WHY_NOT.all) : "",
    ],
  };
}

/** Rounds from outside alone: what the study would have earned in them, if that can be known, beside what was played. */
function fromOutside(history, { would, played, others, text }, feedback, colours) {
  const imagined = history[would] ?? null;
  const equal = history[others] ?? null;
  return {
    drawn: history.source.map((_, k) => k),
    series: [
      ...(imagined === null ? [] : [{ id: "own", name: "This study would have", data: imagined, shade: colours.accent, type: "dotted", width: 2.5 }]),
      { id: "played", name: "Played outside", data: history[played], shade: colours.third, type: "solid", width: 2 },
      ...(equal === null ? [] : [{ id: "equal", name: "Equal weights", data: equal, shade: colours.second, type: "dashed", width: 2 }]),
    ],
    after: `after ${plural(history.told, "round")} from outside`,
    note: [
      text,
      `All ${plural(history.told, "told round")} came from outside; nothing was proposed by the study.`,
      imagined === null
        ? (WHY_NOT_IMAGINED[feedback] ?? WHY_NOT_IMAGINED.all)
        : "“Would have”: had it been asked before each of them, knowing those before, and nothing been paid for changing weights.",
    ],
  };
}

function lines(title, figures) {
  const { what, zero } = figures;
  return chartCard(title, ({ history, feedback }, colours) => {
    if (history.told === 0) return { empty: "Nothing told yet. Each told round adds a point." };
    const { drawn, series, after, note } = (history.asked === 0 ? fromOutside : proposed)(history, figures, feedback, colours);
    const pick = (values) => drawn.map((k) => values[k]);
    const [place, round, toldAt, reward] = [history.place, history.round, history.told_at, history.reward].map(pick);
    if (series[0].data.every((value) => value === null)) return { empty: "Known from the second told round on." };
    const last = series[0].data.findLast((value) => value !== null);
    return {
      label: `${title}, ${series[0].name.toLowerCase()}: ${number(last)} ${after}.`,
      note: note.filter(Boolean).join(" "),
      legend: series.length === 1 && history.asked > 0 ? undefined : series.map(({ name, shade, type }) => ({ name, colour: shade, kind: { dashed: "dashes", dotted: "dots" }[type] ?? "stroke" })),
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
    would: "would_have_cumulative_reward",
    played: "cumulative_reward",
    others: "equal_weights_cumulative_reward",
    what: "sum",
    text: "Sum of the rounds' rewards per unit, in order of telling.",
    zero: true,
  });

export const riskChart = () =>
  lines("Running risk", {
    own: "asked_risk",
    equal: "asked_equal_weights_risk",
    would: "would_have_risk",
    played: "risk",
    others: "equal_weights_risk",
    what: "sd",
    text: "Standard deviation of the rewards so far.",
    zero: true,
  });
