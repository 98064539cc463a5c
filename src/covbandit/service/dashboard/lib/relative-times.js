// Times told as "3 minutes ago", kept true while the page is open.

import { h } from "./dom.js";
import { ago, moment } from "./format.js";

const EVERY = 15000;

export function since(iso, otherwise = "") {
  return iso ? h("time", { datetime: iso, title: moment(iso), data: { ago: "" } }, ago(iso)) : otherwise;
}

export function startClock() {
  setInterval(() => {
    if (document.hidden) return;
    for (const element of document.querySelectorAll("time[data-ago]")) {
      const text = ago(element.dateTime);
      if (element.textContent !== text) element.textContent = text;
    }
  }, EVERY);
}
