// One study: what it proposes and why, what it has learned, what was played, and how it is set up.

import * as api from "../lib/api.js";
import { askCard } from "../cards/ask-and-tell.js";
import { frontierChart } from "../charts/efficient-frontier.js";
import { meansChart } from "../charts/estimated-means.js";
import { rewardChart, riskChart } from "../charts/reward-and-risk.js";
import { weightsChart } from "../charts/weights-over-time.js";
import { fill, h } from "../lib/dom.js";
import { correlationCard } from "../charts/correlations.js";
import { startPolling } from "../lib/polling.js";
import { bad } from "../lib/messages.js";
import { figures, headline, remarksOn, setUp } from "../cards/study-header.js";
import { optionColour } from "../charts/colours.js";
import { RoundStore } from "../lib/round-store.js";
import { roundsCard } from "../cards/rounds.js";
import { logCard, settingsCard } from "../cards/set-up.js";
import { weightsCard } from "../cards/proposed-weights.js";

/** Each option keeps its colour while the page is open, in the order in which the study came to know them. */
function colouring() {
  const known = new Map();
  return {
    learn: (names) => {
      for (const name of names) if (!known.has(name)) known.set(name, known.size);
    },
    of: (name) => optionColour(known.get(name) ?? known.size),
  };
}

export async function showStudy(main, name, wanted) {
  let summary = await api.summary(name);
  if (!wanted()) return () => {}; // the user went elsewhere meanwhile
  const store = new RoundStore(name, summary.revision);
  const colours = colouring();
  colours.learn([...summary.options, ...summary.retired]);

  const now = weightsCard(colours.of);
  const weights = weightsChart(colours.of);
  const means = meansChart(colours.of);
  const correlations = correlationCard();
  const frontier = frontierChart();
  const reward = rewardChart();
  const risk = riskChart();
  const log = logCard(name);
  const asking = askCard(colours.of, changed);
  const rounds = roundsCard(colours.of, { tell: asking.tell, changed });
  const settings = settingsCard(() => polling.now());

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
    asking.update(summary, store);
    rounds.update(summary, store);
    settings.update(summary);
  }

  /** A round that this page asked for or told: shown at once, and the figures follow. */
  function changed(round) {
    store.put(round);
    drawRounds();
    polling.now();
  }

  let generation = 0;
  let explanation = null;
  let history = null;

  function drawHead() {
    fill(setup, setUp(summary));
    fill(remarks, remarksOn(summary));
    fill(numbers, figures(summary, explanation, history));
    said.textContent = explanation === null ? "" : headline(summary, explanation, history);
  }

  /** Read everything again; each panel is drawn as soon as its own figures are there. */
  async function refresh(options) {
    const mine = ++generation;
    const told = api.summary(name, options);
    const why = api.explain(name, options);
    const believed = api.estimates(name, options);

    async function panel(answers, draw, ...parts) {
      try {
        const found = await Promise.all(answers);
        if (mine === generation && !options.signal.aborted) draw(...found);
      } catch (error) {
        if (mine === generation && !options.signal.aborted && error.status !== 401) for (const part of parts) part.fail(error);
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
          now.update({ summary, explanation, estimates });
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
          weights.update(history);
          reward.update({ history, feedback: summary.feedback });
          risk.update({ history, feedback: summary.feedback });
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
  Promise.all([store.older(), store.ofStatus("open"), store.ofStatus("expired")]).then(drawRounds, bad);

  return () => {
    polling.stop();
    for (const part of [now, weights, means, correlations, frontier, reward, risk, log]) part.destroy();
  };
}
