// Elements without HTML: every string becomes a text node, so no name can ever become markup.

/** @import { Child, ColumnHead, Properties } from "./types.d.ts" */

/**
 * Make an element.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Properties} properties attributes; also listeners (onclick), style and data; null and false are left out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value); // through the CSSOM, as the CSP demands
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value") Object.assign(element, { value }); // the property: the attribute is only where it starts
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/**
 * Replace the children and keep the focus where it was, found again by data-focus.
 *
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const focused = element.contains(document.activeElement) ? focusName(document.activeElement) : undefined;
  element.replaceChildren();
  add(element, children);
  if (focused !== undefined) byFocusName(element, focused)?.focus({ preventScroll: true });
}

/**
 * The name by which an element is found again when it is drawn anew.
 *
 * @param {Element | null} element
 */
export const focusName = (element) => (element instanceof HTMLElement ? element.dataset.focus : undefined);

/**
 * The element within `place` that has this name.
 *
 * @param {ParentNode} place
 * @param {string} name
 */
export const byFocusName = (place, name) =>
  [.../** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("[data-focus]"))].find((found) => focusName(found) === name);

/**
 * The element of the page that has this id.
 *
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} id
 * @param {new () => Kind} [kind] of which class it is
 * @returns {Kind}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (found === null || (kind !== undefined && !(found instanceof kind))) throw new Error(`the page has no ${kind?.name ?? "element"} ${id}`);
  return /** @type {Kind} */ (found);
}

/**
 * An entry of what came as JSON: an option may be called "constructor", which every object seems to have.
 *
 * @template Value
 * @param {Record<string, Value> | null | undefined} object
 * @param {string} name
 * @returns {Value | undefined}
 */
export const entry = (object, name) =>
  object !== null && object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;

let ids = 0;

/** @param {string} stem */
export const newId = (stem) => `${stem}-${++ids}`;

/**
 * A table with headers; numeric columns are those whose head is {text, numeric: true}.
 *
 * @param {string} caption
 * @param {ColumnHead[]} head
 * @param {string[][]} rows
 */
export function table(caption, head, rows) {
  /** @type {{text: string, numeric?: boolean}[]} */
  const columns = head.map((cell) => (typeof cell === "string" ? { text: cell } : cell));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.numeric ? "number" : null }, c.text)))),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            row.map((cell, k) =>
              k === 0
                ? h("th", { scope: "row" }, cell)
                : h("td", { class: columns[k].numeric ? "number" : null }, cell),
            ),
          ),
        ),
      ),
    ),
  );
}
