// The log of changes, exports of all rounds, and the check of the log.

import * as api from "../lib/api.js";
import { card } from "../lib/card.js";
import { fill, h } from "../lib/dom.js";
import { number, sentence } from "../lib/format.js";
import { showError } from "../lib/messages.js";
import { since } from "../lib/relative-times.js";

/** @import { Change, ExportFormat, Panel } from "../lib/types.d.ts" */

/** @type {Record<ExportFormat, string>} */
const FORMATS = { csv: "CSV", json: "JSON", parquet: "Parquet" };

/**
 * A change in words.
 *
 * @param {Change} change
 */
function changeWords({ kind, detail }) {
  switch (kind) {
    case "created":
      return "Created";
    case "risk_aversion":
      return `Risk aversion from ${number(detail.before)} to ${number(detail.risk_aversion)}`;
    case "retired":
      return `Retired ${detail.option}`;
    case "restored":
      return `Restored ${detail.option}`;
    case "added":
      return `Added ${detail.option}`;
    case "amended":
      return `Amended round ${detail.round}`;
    default:
      return `${kind} ${JSON.stringify(detail)}`;
  }
}

/**
 * @param {string} name of the study
 * @returns {Panel<Change[]>}
 */
export function logCard(name) {
  const log = h("ol", { class: "log" });
  const finding = h("p", { class: "note", role: "status" });

  /**
   * Download through a blob: the token travels in a header, never in an address.
   *
   * @param {ExportFormat} format
   */
  async function download(format) {
    try {
      const url = URL.createObjectURL(await api.exportFile(name, format));
      const link = h("a", { href: url, download: `${name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")}.${format}` });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } catch (error) {
      showError(error);
    }
  }

  async function check() {
    verify.disabled = true;
    try {
      const answer = await api.verify(name);
      finding.textContent = sentence(answer.message);
      finding.classList.toggle("warn", !answer.ok);
    } catch (error) {
      showError(error);
    } finally {
      verify.disabled = false;
    }
  }

  const verify = h(
    "button",
    { type: "button", class: "quiet", title: "Tell the whole log to a fresh learner and compare", onclick: check },
    "Verify the log",
  );
  const element = card(
    "Log and export",
    h("p", { class: "note" }, "Every round with weights, outcomes and times."),
    h(
      "div",
      { class: "buttons" },
      /** @type {[ExportFormat, string][]} */ (Object.entries(FORMATS)).map(([format, text]) =>
        h("button", { type: "button", "aria-label": `Export as ${text}`, onclick: () => download(format) }, text),
      ),
      verify,
    ),
    finding,
    h("h3", {}, "Changes"),
    log,
  );
  return {
    element,
    update(changes) {
      fill(
        log,
        [...changes].reverse().map((change) => h("li", {}, h("span", {}, changeWords(change)), h("span", { class: "sub" }, since(change.at)))),
      );
    },
    fail(error) {
      showError(error);
    },
    destroy() {},
  };
}
