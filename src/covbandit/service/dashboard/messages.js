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

/** What went wrong and the way out, as elements; used in messages, panels and dialogs. */
export function told(error) {
  if (error instanceof SignedOut) return [h("strong", {}, "Signed out."), " Sign in with a token to go on."];
  const hint = error instanceof ApiError ? error.hint : "";
  const parts = [h("strong", {}, sentence(error.message || "Something went wrong."))];
  if (hint) parts.push(h("span", { class: "hint" }, sentence(hint)));
  if (error.status === 403 && !hint) {
    parts.push(h("span", { class: "hint" }, "Your token does not allow this. Sign in with one of a wider scope."));
  }
  return parts;
}

export function bad(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof ApiError || error instanceof SignedOut)) console.error(error); // a fault of this page
  show("bad", ...told(error));
}

export const errorBox = (error) => h("div", { class: "message bad", role: "alert" }, h("div", {}, ...told(error)));
