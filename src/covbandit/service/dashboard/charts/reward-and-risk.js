// What the study's proposals earned and how much it varied; against equal weights only where that can be known.

import { chartCard } from "./chart-card.js";
import { axisTooltip, margins, toldAxis, toldPoints, valueAxis } from "./chart-parts.js";
import { count, moment, number, plural } from "../lib/format.js";

/** @import { ChartColours, Feedback, History, Numbers, TooltipRow } from "../lib/types.d.ts" */

/**
 * Where the figures of a chart are in the history, and what it says of them.
 *
 * @typedef {object} Figures
 * @property {"asked_cumulative_reward" | "asked_risk"} own
 * @property {"asked_equal_weights_cumulative_reward" | "asked_equal_weights_risk"} equal
 * @property {"would_have_cumulative_reward" | "would_have_risk"} would
 * @property {"cumulative_reward" | "risk"} played
 * @property {"equal_weights_cumulative_reward" | "equal_weights_risk"} others
 * @property {string} what
 * @property {string} text
 */

/**
 * A line of a chart.
 *
 * @typedef {object} Line
 * @property {string} id
 * @property {string} name
 * @property {Numbers} data
 * @property {string} shade
 * @property {"solid" | "dashed" | "dotted"} type
 * @property {number} width
 */

/** @typedef {{drawn: number[], series: Line[], after: string, note: string[]}} Lines `drawn`: the places of the rounds */

/** The key of a line in the legend. */
const KEYS = { solid: "stroke", dashed: "dashes", dotted: "dots" };

/** @type {Record<Feedback, string>} */
const WHY_NOT = {
  chosen: "No comparison with equal weights: of the options without weight, nobody knows what they would have earned.",
  total: "No comparison with equal weights: only the mix's total is seen, not what other weights would have earned.",
  all: "No comparison with equal weights: it needs every option's outcome in every round.",
};

/**
 * Why it is not known what the study would have earned in rounds from outside.
 *
 * @type {Record<Feedback, string>}
 */
const WHY_NOT_IMAGINED = {
  chosen: "What the study would have earned in them is not known: only the options that were played there were seen.",
  total: "What the study would have earned in them is not known: only the total of what was played there was seen.",
  all: "What the study would have earned in them was not worked out: that takes every option's outcome per unit of weight, no option ever retired, and at most 5,000 rounds.",
};

/**
 * The rounds that the study proposed: what it has to answer for.
 *
 * @param {History} history
 * @param {Figures} figures
 * @param {Feedback} feedback
 * @param {ChartColours} colours
 * @returns {Lines}
 */
function proposed(history, { own, equal, text }, feedback, colours) {
  const outside = history.told - history.asked;
  const drawn = history.source.flatMap((source, k) => (source === "asked" ? [k] : []));
  /** @param {Numbers} values */
  const pick = (values) => drawn.map((k) => values[k]);
  const equally = history[equal];
  const other = equally ? pick(equally) : null;
  return {
    drawn,
    series: [
      { id: "own", name: "This study", data: pick(history[own]), shade: colours.accent, type: "solid", width: 2.5 },
      ...(other === null ? [] : [equalWeights(other, colours)]),
    ],
    after: `after ${plural(history.asked, "told round")}${outside ? " that the study proposed" : ""}`,
    note: [
      text,
      outside ? `Only the ${plural(history.asked, "round")} that the study proposed; ${count(outside)} told from outside ${outside === 1 ? "is" : "are"} left out.` : "",
      other === null ? (WHY_NOT[feedback] ?? WHY_NOT.all) : "",
    ],
  };
}

/**
 * Rounds from outside alone: what the study would have earned in them, if that can be known, beside what was played.
 *
 * @param {History} history
 * @param {Figures} figures
 * @param {Feedback} feedback
 * @param {ChartColours} colours
 * @returns {Lines}
 */
function fromOutside(history, { would, played, others, text }, feedback, colours) {
  const imagined = history[would] ?? null;
  const equal = history[others] ?? null;
  return {
    drawn: history.source.map((_, k) => k),
    series: [
      ...(imagined === null ? [] : [wouldHave(imagined, colours)]),
      { id: "played", name: "Played outside", data: history[played], shade: colours.third, type: "solid", width: 2 },
      ...(equal === null ? [] : [equalWeights(equal, colours)]),
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

/** @type {(data: Numbers, colours: ChartColours) => Line} */
const equalWeights = (data, colours) => ({ id: "equal", name: "Equal weights", data, shade: colours.second, type: "dashed", width: 2 });

/** @type {(data: Numbers, colours: ChartColours) => Line} */
const wouldHave = (data, colours) => ({ id: "own", name: "This study would have", data, shade: colours.accent, type: "dotted", width: 2.5 });

/**
 * @param {string} title
 * @param {Figures} figures
 */
function lines(title, figures) {
  return chartCard(title, (/** @type {{history: History, feedback: Feedback}} */ { history, feedback }, colours) => {
    if (history.told === 0) return { empty: "Nothing told yet. Each told round adds a point." };
    const { drawn, series, after, note } = (history.asked === 0 ? fromOutside : proposed)(history, figures, feedback, colours);
    const place = drawn.map((k) => history.place[k]);
    const round = drawn.map((k) => history.round[k]);
    const toldAt = drawn.map((k) => history.told_at[k]);
    const reward = drawn.map((k) => history.reward[k]);
    if (series[0].data.every((value) => value === null)) return { empty: "Known from the second told round on." };
    const last = series[0].data.findLast((value) => value !== null);
    return {
      label: `${title}, ${series[0].name.toLowerCase()}: ${number(last)} ${after}.`,
      note: note.filter(Boolean).join(" "),
      legend: series.length === 1 && history.asked > 0 ? undefined : series.map(({ name, shade, type }) => ({ name, colour: shade, kind: KEYS[type] })),
      height: 240,
      option: {
        grid: margins(),
        tooltip: axisTooltip(colours, (found) => {
          if (found.length === 0) return null;
          const at = found[0].dataIndex;
          /** @type {TooltipRow[]} */
          const rows = series.map(({ name, data, shade }) => [name, number(data[at]), shade]);
          rows.push(["Reward of this round", number(reward[at])]);
          return [`Round ${round[at]}, told ${moment(toldAt[at])}`, rows];
        }),
        xAxis: toldAxis(colours, place),
        yAxis: valueAxis(colours, undefined, { scale: false }),
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
        head: ["Round", "Told", { text: "Reward", numeric: true }, ...series.map(({ name }) => ({ text: `${figures.what}: ${name.toLowerCase()}`, numeric: true }))],
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
  });
