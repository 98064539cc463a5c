// Light, dark, or what the system says; charts are told through the event "themechange".

const KEY = "covbandit.theme";
/** @typedef {"auto" | "light" | "dark"} Theme */

/** @type {Record<Theme, Theme>} */
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const root = document.documentElement;

/** @returns {Theme} */
function current() {
  const { theme } = root.dataset;
  return theme === "light" || theme === "dark" ? theme : "auto";
}

/** @param {HTMLButtonElement} button */
function label(button) {
  const theme = current();
  button.textContent = `Theme: ${theme}`;
  button.title = `Change to ${NEXT[theme]}`;
}

/** @param {Theme} theme */
function apply(theme) {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be forbidden; the choice then lasts until the page is closed.
  }
  document.dispatchEvent(new Event("themechange"));
}

/**
 * Make a button switch the theme.
 *
 * @param {HTMLButtonElement} button
 */
export function startTheme(button) {
  label(button);
  button.addEventListener("click", () => {
    apply(NEXT[current()]);
    label(button);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (current() === "auto") document.dispatchEvent(new Event("themechange"));
  });
}

/**
 * The value of a CSS colour variable in the theme shown now.
 *
 * @param {string} name
 */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
