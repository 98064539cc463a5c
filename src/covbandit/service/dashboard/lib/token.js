// The token lives in sessionStorage: gone with the tab, in no URL and in no log.

const KEY = "covbandit.token";
let memory = null; // where storage is forbidden

export function token() {
  try {
    return sessionStorage.getItem(KEY) ?? memory;
  } catch {
    return memory;
  }
}

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
