// One study: what it proposes and why, what it has learned, what was played, and how it is set up.

import { askAndTellCard } from "../cards/ask-and-tell.js";
import { logCard } from "../cards/log-and-export.js";
import { proposedWeightsCard } from "../cards/proposed-weights.js";
import { roundsCard } from "../cards/rounds.js";
import { setUpCard } from "../cards/set-up.js";
import { figures, headline, remarksOn, setUpLine } from "../cards/study-header.js";
import { optionColour } from "../charts/colours.js";
import { correlationCard } from "../charts/correlations.js";
import { frontierChart } from "../charts/efficient-frontier.js";
import { meansChart } from "../charts/estimated-means.js";
import { rewardChart, riskChart } from "../charts/reward-and-risk.js";
import { weightsChart } from "../charts/weights-over-time.js";
import * as api from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { showError } from "../lib/messages.js";
import { startPolling } from "../lib/polling.js";
import { RoundStore } from "../lib/round-store.js";

/** @import { Explanation, History, Round, View } from "../lib/types.d.ts" */

/** Each option keeps its colour while the page is open, in the order in which the study came to know them. */
function colouring() {
  /** @type {Map<string, number>} */
  const known = new Map();
  return {
    learn: (/** @type {string[]} */ names) => {
      for (const name of names) if (!known.has(name)) known.set(name, known.size);
    },
    of: (/** @type {string} */ name) => optionColour(known.get(name) ?? known.size),
  };
}

/** @type {View} */
export async function showStudy(main, name, wanted) {
  let summary = await api.summary(name);
  if (!wanted()) return () => {}; // the user went elsewhere meanwhile
  const store = new RoundStore(name, summary.revision);
  const colours = colouring();
  colours.learn([...summary.options, ...summary.retired]);

  const now = proposedWeightsCard(colours.of);
  const weights = weightsChart(colours.of);
  const means = meansChart(colours.of);
  const correlations = correlationCard();
  const frontier = frontierChart();
  const reward = rewardChart();
  const risk = riskChart();
  const log = logCard(name);
  const asking = askAndTellCard(summary, store, colours.of, changed);
  const rounds = roundsCard(summary, store, colours.of, { tell: asking.tell, changed });
  const settings = setUpCard(summary, () => polling.now());

  const said = h("p", { class: "headline" });
  const setup = h("div", {});
  const remarks = h("div", { class: "remarks" });
  const numbers = h("div", {});
  fill(
    main,
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "← Studies")),
    h("h1", { class: "study-name" }, summary.name),
    setup,
    remarks,
    said,
    numbers,
    h("div", { class: "grid lead" }, now.element, asking.element),
    h(
      "div",
      { class: "grid" },
      weights.element,
      means.element,
      frontier.element,
      correlations.element,
      reward.element,
      risk.element,
    ),
    rounds.element,
    h("div", { class: "grid" }, settings.element, log.element),
  );

  function drawRounds() {
    asking.update(summary);
    rounds.update(summary);
    settings.update(summary);
  }

  /**
   * Show a round that this page asked for or told at once; the figures follow.
   *
   * @param {Round} round
   */
  function changed(round) {
    store.put(round);
    drawRounds();
    polling.now();
  }

  let generation = 0;
  /** @type {Explanation | null} */
  let explanation = null;
  /** @type {History | null} */
  let history = null;

  function drawHead() {
    fill(setup, setUpLine(summary));
    fill(remarks, remarksOn(summary));
    fill(numbers, figures(summary, explanation, history));
    said.textContent = explanation === null ? "" : headline(explanation, history);
  }

  /**
   * Read everything again; each panel is drawn as soon as its own figures are there.
   *
   * @param {{signal: AbortSignal, background: boolean}} options
   */
  async function refresh(options) {
    const mine = ++generation;
    const told = api.summary(name, options);
    const why = api.explain(name, options);
    const believed = api.estimates(name, options);

    /**
     * Draw panels when all of their answers are there; if one is not, the panels say so.
     *
     * @template {Promise<any>[] | []} Answers
     * @param {Answers} answers
     * @param {(...found: {-readonly [K in keyof Answers]: Awaited<Answers[K]>}) => void} draw
     * @param {...{fail: (error: unknown) => void}} parts
     */
    async function panel(answers, draw, ...parts) {
      try {
        const found = await Promise.all(answers);
        if (mine === generation && !options.signal.aborted) draw(...found);
      } catch (error) {
        const signedOut = error instanceof api.ApiError && error.status === 401;
        if (mine === generation && !options.signal.aborted && !signedOut) for (const part of parts) part.fail(error);
        throw error;
      }
    }

    const drawn = await Promise.allSettled([
      panel([told], (found) => {
        summary = found;
        drawRounds();
        drawHead();
      }),
      panel(
        [told, why, believed],
        (_, reasons, estimates) => {
          explanation = reasons;
          colours.learn(reasons.by_option.option.map(String));
          drawHead();
          now.update({ summary, explanation: reasons, estimates });
          means.update(estimates);
          correlations.update(estimates);
        },
        now,
        means,
        correlations,
      ),
      panel([api.frontier(name, options), believed], (curve, estimates) => frontier.update({ frontier: curve, estimates }), frontier),
      panel(
        [api.history(name, options), why],
        (course, reasons) => {
          history = course;
          colours.learn(reasons.by_option.option.map(String));
          drawHead();
          weights.update(course);
          reward.update({ history: course, feedback: summary.feedback });
          risk.update({ history: course, feedback: summary.feedback });
        },
        weights,
        reward,
        risk,
      ),
      panel([api.changes(name, options)], log.update, log),
    ]);
    const lost = drawn.find((part) => part.status === "rejected");
    if (lost) throw lost.reason; // the panels say what is missing; polling tries again
  }

  let stale = true; // the figures have to be read again
  const polling = startPolling(async (signal) => {
    const options = { signal, background: true };
    if (await store.poll(options)) stale = true;
    if (!stale) return;
    await refresh(options);
    stale = false;
  });

  drawRounds();
  drawHead();
  Promise.all([store.older(), store.ofStatus("open"), store.ofStatus("expired")]).then(drawRounds, showError);

  return () => {
    polling.stop();
    for (const part of [now, weights, means, correlations, frontier, reward, risk, log]) part.destroy();
  };
}
