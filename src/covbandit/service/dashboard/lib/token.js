// The token lives in sessionStorage: gone with the tab, in no URL and in no log.

const KEY = "covbandit.token";
/** @type {string | null} */
let memory = null; // where storage is forbidden

/** @returns {string | null} the token, or null if nobody has signed in */
export function token() {
  try {
    return sessionStorage.getItem(KEY) ?? memory;
  } catch {
    return memory;
  }
}

/** @param {string | null} value the token, or null to sign out */
export function setToken(value) {
  memory = value;
  try {
    if (value === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  } catch {
    // The copy in memory serves until the page is closed.
  }
  document.dispatchEvent(new Event("tokenchange"));
}
