// Elements without HTML: every string becomes a text node, so no name can ever become markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value); // through the CSSOM, as the CSP demands
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Replace the children and keep the focus where it was, found again by data-focus. */
export function fill(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  element.replaceChildren();
  add(element, children);
  if (focused !== undefined) {
    const again = [...element.querySelectorAll("[data-focus]")].find((found) => found.dataset.focus === focused);
    again?.focus({ preventScroll: true });
  }
}

/** An entry of what came as JSON: an option may be called "constructor", which every object seems to have. */
export const entry = (object, name) =>
  object !== null && object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;

let ids = 0;

export const newId = (stem) => `${stem}-${++ids}`;

/** A table with headers; numeric columns are those whose head is {text, numeric: true}. */
export function table(caption, head, rows, properties = {}) {
  const columns = head.map((cell) => (typeof cell === "string" ? { text: cell } : cell));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      properties,
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
