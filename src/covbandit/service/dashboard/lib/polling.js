// Polling with a visible state: quick while the page is looked at, slow when hidden, ever slower on errors.

import { ApiError } from "./api.js";

const QUICK = 2000;
const HIDDEN = 30000;
const SLOWEST = 30000;
const OFFLINE_AFTER = 4; // failures in a row

const WORDS = {
  idle: ["", ""],
  live: ["Live", "Changes appear by themselves"],
  reconnecting: ["Reconnecting…", "The last request failed; trying again"],
  offline: ["Offline", "The service does not answer; what you see may be old"],
  signedout: ["Signed out", "Sign in to go on"],
};

const sign = document.getElementById("live");

function show(state) {
  if (sign.dataset.state === state) return;
  sign.dataset.state = state;
  [sign.textContent, sign.title] = WORDS[state];
}

/** Call `poll(signal)` again and again; `now()` does it at once, `stop()` ends it. */
export function startPolling(poll, every = QUICK) {
  let timer = null;
  let failures = 0;
  let running = false;
  let again = false;
  const ended = new AbortController();

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
      if (ended.signal.aborted || error.name === "AbortError") return;
      if (!(error instanceof ApiError)) console.error(error); // a fault of this page
      failures += 1;
      if (error.status === 401) {
        show("signedout");
        document.dispatchEvent(new Event("signedout"));
      } else show(failures >= OFFLINE_AFTER || !navigator.onLine ? "offline" : "reconnecting");
      wait = Math.max(wait, Math.min(SLOWEST, every * 2 ** failures), 1000 * (error.retryAfter ?? 0));
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
