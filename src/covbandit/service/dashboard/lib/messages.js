// Short notices. Good news goes away by itself, trouble stays until it is dismissed.

import { ApiError, isAbort, SignedOut } from "./api.js";
import { byId, h } from "./dom.js";
import { sentence } from "./format.js";

/** @import { Child } from "./types.d.ts" */

const place = byId("messages");

/**
 * @param {"good" | "bad"} kind
 * @param {...Child} children
 */
function show(kind, ...children) {
  const box = h("div", { class: `message ${kind}`, role: kind === "bad" ? "alert" : null }, h("div", {}, ...children));
  box.append(
    h("button", { type: "button", class: "quiet", "aria-label": "Dismiss this message", onclick: () => box.remove() }, "×"),
  );
  while (place.children.length >= 3) place.firstElementChild?.remove();
  place.append(box);
  return box;
}

/** @param {string} text */
export function showSuccess(text) {
  const box = show("good", text);
  setTimeout(() => box.remove(), 6000);
}

/** A mistake in what the user typed, with a message for people. */
export class InputError extends Error {}

const FAULT = "This page made a mistake. Nothing that was told is lost.";

/**
 * Return true if the message of an error was written for people; all others go to the console alone.
 *
 * @param {unknown} error
 * @returns {error is ApiError | InputError}
 */
const isForPeople = (error) => error instanceof ApiError || error instanceof InputError;

/**
 * What went wrong and the way out, as elements; used in messages, panels and dialogs.
 *
 * @param {unknown} error
 * @returns {Child[]}
 */
export function describeError(error) {
  if (error instanceof SignedOut) return [h("strong", {}, "Signed out."), " Sign in with a token to go on."];
  if (!isForPeople(error)) {
    console.error(error);
    return [h("strong", {}, FAULT), h("span", { class: "hint" }, "Reload it and look at what is there. The browser's console has the details.")];
  }
  const hint = error instanceof ApiError ? error.hint : "";
  const parts = [h("strong", {}, sentence(error.message || "Something went wrong."))];
  if (hint) parts.push(h("span", { class: "hint" }, sentence(hint)));
  if (error instanceof ApiError && error.status === 403 && !hint) {
    parts.push(h("span", { class: "hint" }, "Your token does not allow this. Sign in with one of a wider scope."));
  }
  return parts;
}

/** @param {unknown} error */
export function showError(error) {
  if (isAbort(error)) return;
  const parts = describeError(error);
  if (!isForPeople(error) && place.textContent?.includes(FAULT)) return; // said already, and not dismissed
  show("bad", ...parts);
}

/** Show errors that nobody caught in the same way. */
export function reportUncaughtErrors() {
  addEventListener("error", (event) => {
    if (event.error) showError(event.error); // without one it is a remark of the browser's, such as on observers
  });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault(); // `showError` writes it to the console
    showError(event.reason);
  });
}

/** @param {unknown} error */
export const errorBox = (error) => h("div", { class: "message bad", role: "alert" }, h("div", {}, ...describeError(error)));
