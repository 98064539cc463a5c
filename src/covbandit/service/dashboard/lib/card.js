// The frame of every card of the page.

import { h, newId } from "./dom.js";

/** @import { Child } from "./types.d.ts" */

/**
 * A card with a heading.
 *
 * @param {string} title
 * @param {...Child} children
 */
export function card(title, ...children) {
  const heading = newId("card");
  return h("section", { class: "card", "aria-labelledby": heading }, h("h2", { id: heading }, title), ...children);
}
