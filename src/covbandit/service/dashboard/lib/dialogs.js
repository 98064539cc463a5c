// Modal dialogs on <dialog>: the browser traps the focus and gives it back.

import { tryToken } from "./api.js";
import { byFocusName, fill, focusName, h, newId } from "./dom.js";
import { describeError } from "./messages.js";

/** @import { Child } from "./types.d.ts" */

/**
 * Open a dialog with a form. `submit` may throw: the dialog stays open and shows why, and no input is lost.
 *
 * @template Answer
 * @param {object} parts
 * @param {string} parts.title
 * @param {Child} parts.body
 * @param {string} parts.confirm what the button says
 * @param {() => Promise<Answer>} parts.submit
 * @param {boolean} [parts.wide]
 * @returns {Promise<Answer | null>} what `submit` returned, or null if the user gave up
 */
export function formDialog({ title, body, confirm, submit, wide = false }) {
  const heading = newId("dialog");
  const trouble = h("div", { class: "trouble", role: "alert" });
  const go = h("button", { type: "submit", class: "primary" }, confirm);
  const cancel = h("button", { type: "button" }, "Cancel");
  const form = h(
    "form",
    { method: "dialog", class: "dialog-form" },
    h("h2", { id: heading }, title),
    h("div", { class: "dialog-body" }, body),
    trouble,
    h("div", { class: "actions" }, cancel, go),
  );
  const dialog = h("dialog", { "aria-labelledby": heading, class: wide ? "wide" : null }, form);
  document.body.append(dialog);
  const opener = focusName(document.activeElement);
  return new Promise((resolve) => {
    /** @type {Answer | null} */
    let answer = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      go.disabled = true;
      fill(trouble);
      try {
        answer = await submit();
        dialog.close();
      } catch (error) {
        fill(trouble, h("div", { class: "message bad" }, h("div", {}, ...describeError(error))));
      } finally {
        go.disabled = false;
      }
    });
    cancel.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      // A refresh may have drawn the opener anew meanwhile; the browser then finds nothing to give the focus back to.
      if (opener !== undefined && document.activeElement === document.body) {
        byFocusName(document, opener)?.focus();
      }
      resolve(answer);
    });
    dialog.showModal();
  });
}

/**
 * Ask before something that others will notice; resolves to true or null.
 *
 * @param {string} title
 * @param {string} text
 * @param {string} confirm what the button says
 * @param {() => Promise<unknown>} submit
 */
export function confirmDialog(title, text, confirm, submit) {
  return formDialog({ title, body: h("p", {}, text), confirm, submit: () => submit().then(() => true) });
}

/** @type {Promise<string | null> | null} */
let waiting = null;

/**
 * Ask for a token, in one dialog at a time however many requests need it.
 *
 * @param {Error | null} error why the last token was refused
 */
export function tokenDialog(error = null) {
  waiting ??= openTokenDialog(error).finally(() => {
    waiting = null;
  });
  return waiting;
}

/** @param {Error | null} error */
function openTokenDialog(error) {
  const field = newId("token");
  const input = h("input", {
    id: field,
    type: "password",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    autofocus: true,
  });
  return formDialog({
    title: "This service needs a token",
    body: [
      error && h("div", { class: "message bad" }, h("div", {}, ...describeError(error))),
      h("label", { for: field }, "Token"),
      input,
      h(
        "p",
        { class: "note" },
        "It is kept in this tab only and sent to this service alone. A token with scope ",
        h("em", {}, "read"),
        " shows everything, ",
        h("em", {}, "tell"),
        " asks and tells, ",
        h("em", {}, "admin"),
        " creates and changes studies. Whoever runs the service creates tokens.",
      ),
    ],
    confirm: "Sign in",
    submit: async () => {
      await tryToken(input.value.trim());
      return input.value.trim();
    },
  });
}
