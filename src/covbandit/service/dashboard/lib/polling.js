// Polling with a visible state: quick while the page is looked at, slow when hidden, ever slower on errors.

import { ApiError, isAbort } from "./api.js";
import { byId } from "./dom.js";

const QUICK = 2000;
const HIDDEN = 30000;
const SLOWEST = 30000;
const OFFLINE_AFTER = 4; // failures in a row

/** @typedef {"idle" | "live" | "reconnecting" | "offline" | "signedout"} State */

/** @type {Record<State, [text: string, title: string]>} */
const WORDS = {
  idle: ["", ""],
  live: ["Live", "Changes appear by themselves"],
  reconnecting: ["Reconnecting…", "The last request failed; trying again"],
  offline: ["Offline", "The service does not answer; what you see may be old"],
  signedout: ["Signed out", "Sign in to go on"],
};

const sign = byId("live");

/** @param {State} state */
function show(state) {
  if (sign.dataset.state === state) return;
  sign.dataset.state = state;
  [sign.textContent, sign.title] = WORDS[state];
}

/**
 * Call `poll(signal)` again and again; `now()` does it at once, `stop()` ends it.
 *
 * @param {(signal: AbortSignal) => Promise<void>} poll
 * @param {number} every milliseconds
 */
export function startPolling(poll, every = QUICK) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let failures = 0;
  let running = false;
  let again = false;
  const ended = new AbortController();

  /** @param {number} wait milliseconds */
  function plan(wait) {
    clearTimeout(timer);
    if (!ended.signal.aborted) timer = setTimeout(run, wait);
  }

  async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    let wait = document.hidden ? HIDDEN : every;
    try {
      await poll(ended.signal);
      if (ended.signal.aborted) return;
      failures = 0;
      show("live");
    } catch (error) {
      if (ended.signal.aborted || isAbort(error)) return;
      const failure = error instanceof ApiError ? error : null;
      if (failure === null) console.error(error); // a fault of this page
      failures += 1;
      if (failure?.status === 401) {
        show("signedout");
        document.dispatchEvent(new Event("signedout"));
      } else show(failures >= OFFLINE_AFTER || !navigator.onLine ? "offline" : "reconnecting");
      wait = Math.max(wait, Math.min(SLOWEST, every * 2 ** failures), 1000 * (failure?.retryAfter ?? 0));
    } finally {
      running = false;
    }
    plan(again ? 0 : wait);
    again = false;
  }

  const wake = () => {
    if (!document.hidden) plan(0);
  };
  document.addEventListener("visibilitychange", wake, { signal: ended.signal });
  addEventListener("online", wake, { signal: ended.signal });
  document.addEventListener("tokenchange", wake, { signal: ended.signal });
  plan(0);
  return {
    now: () => plan(0),
    stop: () => {
      ended.abort();
      clearTimeout(timer);
      show("idle");
    },
  };
}
