// Start: theme, token, and the view that the address names. Studies are addressed as #/study/<name>.

import { onTokenNeeded, SignedOut, version } from "./lib/api.js";
import { tokenDialog } from "./lib/dialogs.js";
import { byId, fill, h } from "./lib/dom.js";
import { errorBox, reportUncaughtErrors, showError } from "./lib/messages.js";
import { startClock } from "./lib/relative-times.js";
import { startTheme } from "./lib/theme.js";
import { setToken, token } from "./lib/token.js";
import { showNewStudy } from "./views/new-study.js";
import { showStudies } from "./views/studies.js";
import { showStudy } from "./views/study.js";

/** @import { View } from "./lib/types.d.ts" */

const main = byId("main");
const sign = byId("sign", HTMLButtonElement);

let leave = () => {};
let visit = 0;
let shown = ""; // the address of the view
let tokensNeeded = false;

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // typed by hand
  }
}

/**
 * The view that an address names, the name of its study, and the title of the page.
 *
 * @param {string} hash
 * @returns {[show: View, name: string, title: string]}
 */
function viewOf(hash) {
  if (hash === "#/new") return [showNewStudy, "", "New study"];
  const study = /^#\/study\/(.+)$/.exec(hash);
  if (study !== null) return [showStudy, decoded(study[1]), decoded(study[1])];
  return [showStudies, "", "Studies"];
}

async function route() {
  const mine = ++visit;
  leave();
  leave = () => {};
  shown = location.hash;
  const [show, name, title] = viewOf(shown);
  document.title = `${title} · covbandit`;
  fill(main, h("p", { class: "loading" }, "Loading…"));
  try {
    if (tokensNeeded && token() === null && (await tokenDialog()) === null) throw new SignedOut();
    const left = await show(main, name, () => mine === visit);
    if (mine === visit) leave = left;
    else left();
  } catch (error) {
    if (mine !== visit) return;
    fill(
      main,
      h("h1", {}, title),
      errorBox(error),
      h(
        "p",
        {},
        h("button", { type: "button", class: "primary", onclick: route }, error instanceof SignedOut ? "Sign in" : "Try again"),
        " ",
        h("a", { href: "#/" }, "All studies"),
      ),
    );
  }
}

function showSign() {
  sign.hidden = token() === null;
  sign.textContent = "Sign out";
  sign.onclick = () => {
    setToken(null);
    route();
  };
}

/** Offer to sign in: the token was refused in the background, and what is on the page stays. */
function offerSignIn() {
  sign.hidden = false;
  sign.textContent = "Sign in";
  sign.onclick = () => tokenDialog();
}

async function start() {
  reportUncaughtErrors();
  startTheme(byId("theme", HTMLButtonElement));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash is the router's
    main.focus();
  });
  showSign();
  document.addEventListener("tokenchange", showSign);
  document.addEventListener("signedout", offerSignIn);
  startClock();
  onTokenNeeded(tokenDialog);
  try {
    const told = await version();
    byId("version").textContent = `covbandit ${told.version} · API ${told.api}`;
    tokensNeeded = told.tokens;
  } catch (error) {
    showError(error);
  }
  // A view that is drawn twice loses what was typed into it meanwhile. So addresses count only from now on, and a change
  // whose event is still on its way is left alone if its address is shown already.
  addEventListener("hashchange", () => {
    if (location.hash === shown) return;
    route();
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  route();
}

start();
