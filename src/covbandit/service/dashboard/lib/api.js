// The public HTTP API, one function per call. Errors carry the API's own message and hint.

import { setToken, token } from "./token.js";

const BASE = new URL("api/v1", document.baseURI.split("#")[0]).href; // relative: also right behind a path prefix

export class ApiError extends Error {
  constructor(status, { error = "unknown", message, hint = "" }, retryAfter = null) {
    super(message);
    this.status = status;
    this.code = error;
    this.hint = hint ?? "";
    this.retryAfter = retryAfter;
  }
}

export class SignedOut extends Error {}

let askForToken = async () => null;

/** Set what is called when a token is needed; it resolves to the token, or null if the user gave up. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

async function send(method, path, body, signal) {
  const headers = { Accept: "application/json" };
  const secret = token();
  if (secret !== null) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(BASE + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, {
      error: "unreachable",
      message: "The service does not answer.",
      hint: "Check that covbandit serve is running. This page tries again by itself.",
    });
  }
  return [response, secret];
}

async function failure(response) {
  let told = {};
  try {
    told = await response.json();
  } catch {
    // Not ours: a proxy's page, perhaps.
  }
  if (typeof told.message !== "string") told = { message: `The service answered with status ${response.status}.` };
  const wait = Number(response.headers.get("Retry-After"));
  return new ApiError(response.status, told, Number.isFinite(wait) && wait > 0 ? wait : null);
}

async function request(method, path, body, { signal, background = false } = {}) {
  for (;;) {
    const [response, used] = await send(method, path, body, signal);
    if (response.ok) return response;
    const error = await failure(response);
    if (error.status !== 401) throw error;
    if (token() !== null && token() !== used) continue; // another request has signed in meanwhile
    if (background) throw error; // polling never opens a dialog over what the user types
    if ((await askForToken(used === null ? null : error)) === null) throw new SignedOut(error.message);
  }
}

const json = async (...parts) => (await request(...parts)).json();
const of = (study) => `/studies/${encodeURIComponent(study)}`;
const query = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
};

export const version = () => json("GET", "/version");
export const studies = (options) => json("GET", "/studies", undefined, options).then((answer) => answer.studies);
export const createStudy = (body) => json("POST", "/studies", body);
export const summary = (study, options) => json("GET", of(study), undefined, options);
export const rounds = (study, values, options) => json("GET", `${of(study)}/rounds${query(values)}`, undefined, options);
export const ask = (study, body) => json("POST", `${of(study)}/ask`, body);
export const tell = (study, id, body) => json("POST", `${of(study)}/rounds/${id}/tell`, body);
export const amend = (study, id, body) => json("POST", `${of(study)}/rounds/${id}/amend`, body);
export const tellOutside = (study, body) => json("POST", `${of(study)}/tell_outside`, body);
export const explain = (study, options) => json("GET", `${of(study)}/explain`, undefined, options);
export const estimates = (study, options) => json("GET", `${of(study)}/estimates`, undefined, options);
export const frontier = (study, options) => json("GET", `${of(study)}/frontier${query({ points: 40 })}`, undefined, options);
export const history = (study, options) => json("GET", `${of(study)}/history${query({ points: 400 })}`, undefined, options);
export const changes = (study, options) =>
  json("GET", `${of(study)}/changes`, undefined, options).then((answer) => answer.changes);
export const change = (study, body) => json("POST", `${of(study)}/changes`, body);
export const verify = (study) => json("GET", `${of(study)}/verify`);
export const exportFile = async (study, format) =>
  (await request("GET", `${of(study)}/export${query({ format })}`)).blob();

/** Whether a token is good enough to read; throws what the API says otherwise. */
export async function tryToken(value) {
  const before = token();
  setToken(value);
  try {
    await request("GET", "/studies", undefined, { background: true });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      setToken(before);
      throw error;
    }
    if (error instanceof ApiError && error.status === 403) return; // known, but may not read: the page says so
    setToken(before);
    throw error;
  }
}
