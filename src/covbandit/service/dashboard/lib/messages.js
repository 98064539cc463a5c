// Short notices. Good news goes away by itself, trouble stays until it is dismissed.

import { ApiError, SignedOut } from "./api.js";
import { h } from "./dom.js";
import { sentence } from "./format.js";

const place = document.getElementById("messages");

function show(kind, ...children) {
  const box = h("div", { class: `message ${kind}`, role: kind === "bad" ? "alert" : null }, h("div", {}, ...children));
  box.append(
    h("button", { type: "button", class: "quiet", "aria-label": "Dismiss this message", onclick: () => box.remove() }, "×"),
  );
  while (place.children.length >= 3) place.firstElementChild.remove();
  place.append(box);
  return box;
}

export function good(text) {
  const box = show("good", text);
  setTimeout(() => box.remove(), 6000);
}

/** A mistake of the user's own, with a message for people. */
export class Plain extends Error {}

const FAULT = "This page made a mistake. Nothing that was told is lost.";

/** Whether the message of an error was written for people; of all others only the console hears. */
const isForPeople = (error) => error instanceof ApiError || error instanceof Plain;

/** What went wrong and the way out, as elements; used in messages, panels and dialogs. */
export function told(error) {
  if (error instanceof SignedOut) return [h("strong", {}, "Signed out."), " Sign in with a token to go on."];
  if (!isForPeople(error)) {
    console.error(error);
    return [h("strong", {}, FAULT), h("span", { class: "hint" }, "Reload it and look at what is there. The browser's console has the details.")];
  }
  const hint = error instanceof ApiError ? error.hint : "";
  const parts = [h("strong", {}, sentence(error.message || "Something went wrong."))];
  if (hint) parts.push(h("span", { class: "hint" }, sentence(hint)));
  if (error.status === 403 && !hint) {
    parts.push(h("span", { class: "hint" }, "Your token does not allow this. Sign in with one of a wider scope."));
  }
  return parts;
}

export function bad(error) {
  if (error?.name === "AbortError") return;
  const parts = told(error);
  if (!isForPeople(error) && place.textContent.includes(FAULT)) return; // said already, and not dismissed
  show("bad", ...parts);
}

/** Whatever nobody caught is said in the same words. */
export function catchTheRest() {
  addEventListener("error", (event) => {
    if (event.error) bad(event.error); // without one it is a remark of the browser's, such as on observers
  });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault(); // `bad` writes it to the console
    bad(event.reason);
  });
}

export const errorBox = (error) => h("div", { class: "message bad", role: "alert" }, h("div", {}, ...told(error)));
