// Times told as "3 minutes ago", kept true while the page is open.

import { h } from "./dom.js";
import { ago, moment } from "./format.js";

const EVERY = 15000;

/**
 * A time as an element that the clock keeps true.
 *
 * @param {string | null} iso
 * @param {string} otherwise shown if there is no time
 */
export function since(iso, otherwise = "") {
  return iso ? h("time", { datetime: iso, title: moment(iso), data: { ago: "" } }, ago(iso)) : otherwise;
}

/** Keep all such elements true while the page is open. */
export function startClock() {
  setInterval(() => {
    if (document.hidden) return;
    for (const element of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[data-ago]"))) {
      const text = ago(element.dateTime);
      if (element.textContent !== text) element.textContent = text;
    }
  }, EVERY);
}
