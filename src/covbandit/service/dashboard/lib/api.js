// The public HTTP API, one function per call. Errors carry the API's own message and hint.

import { setToken, token } from "./token.js";

const BASE = new URL("api/v1", document.baseURI.split("#")[0]).href; // relative: also right behind a path prefix

/**
 * @import {
 *   AskBody, Change, ChangeBody, CreateBody, Estimates, Explanation, ExportFormat, Failure, Frontier, History,
 *   RequestOptions, Round, Rounds, RoundStatus, Summary, TellBody, TellOutsideBody, Verification, Version,
 * } from "./types.d.ts"
 */

export class ApiError extends Error {
  /**
   * @param {number} status of HTTP; 0 if there was no answer
   * @param {Failure} failure
   * @param {number | null} retryAfter seconds
   */
  constructor(status, { error = "unknown", message, hint = "" }, retryAfter = null) {
    super(message);
    this.status = status;
    this.code = error;
    this.hint = hint ?? "";
    this.retryAfter = retryAfter;
  }
}

/** A token is needed, and the user gave none. */
export class SignedOut extends Error {}

/** @typedef {(error: ApiError | null) => Promise<string | null>} AskForToken */

/** @type {AskForToken} */
let askForToken = async () => null;

/**
 * Set what is called when a token is needed; it resolves to the token, or null if the user gave up.
 *
 * @param {AskForToken} ask
 */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body undefined if there is none
 * @param {AbortSignal} [signal]
 * @returns {Promise<[response: Response, token: string | null]>} the token is the one that was sent
 */
async function send(method, path, body, signal) {
  /** @type {Record<string, string>} */
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
    if (isAbort(error)) throw error;
    throw new ApiError(0, {
      error: "unreachable",
      message: "The service does not answer.",
      hint: "Check that covbandit serve is running. This page tries again by itself.",
    });
  }
  return [response, secret];
}

/**
 * Return true if an error only says that a request was given up.
 *
 * @param {unknown} error
 */
export const isAbort = (error) => error instanceof Error && error.name === "AbortError";

/** @param {Response} response */
async function failure(response) {
  /** @type {Failure} */
  let answer = { message: `The service answered with status ${response.status}.` };
  try {
    const found = await response.json();
    if (typeof found?.message === "string") answer = found;
  } catch {
    // Not the service's own answer: a proxy's page, perhaps.
  }
  const wait = Number(response.headers.get("Retry-After"));
  return new ApiError(response.status, answer, Number.isFinite(wait) && wait > 0 ? wait : null);
}

/**
 * Send a request until it succeeds or fails for good; ask for a token where one is needed.
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {RequestOptions} [options]
 */
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

/** @param {Parameters<typeof request>} parts */
const json = async (...parts) => (await request(...parts)).json();
/** @param {string} study */
const of = (study) => `/studies/${encodeURIComponent(study)}`;
/** @param {Record<string, string | number | null | undefined>} values */
const query = (values) => {
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
};

/** @returns {Promise<Version>} */
export const version = () => json("GET", "/version");
/** @type {(options?: RequestOptions) => Promise<Summary[]>} */
export const studies = (options) => json("GET", "/studies", undefined, options).then((answer) => answer.studies);
/** @type {(body: CreateBody) => Promise<Summary>} */
export const createStudy = (body) => json("POST", "/studies", body);
/** @type {(study: string, options?: RequestOptions) => Promise<Summary>} */
export const summary = (study, options) => json("GET", of(study), undefined, options);
/** @type {(study: string, values: {after: number, limit: number, status?: RoundStatus}, options?: RequestOptions) => Promise<Rounds>} */
export const rounds = (study, values, options) => json("GET", `${of(study)}/rounds${query(values)}`, undefined, options);
/** @type {(study: string, body: AskBody) => Promise<Round>} */
export const ask = (study, body) => json("POST", `${of(study)}/ask`, body);
/** @type {(study: string, id: number, body: TellBody) => Promise<Round>} */
export const tell = (study, id, body) => json("POST", `${of(study)}/rounds/${id}/tell`, body);
/** @type {(study: string, id: number, body: TellBody) => Promise<Round>} */
export const amend = (study, id, body) => json("POST", `${of(study)}/rounds/${id}/amend`, body);
/** @type {(study: string, body: TellOutsideBody) => Promise<Round>} */
export const tellOutside = (study, body) => json("POST", `${of(study)}/tell_outside`, body);
/** @type {(study: string, options?: RequestOptions) => Promise<Explanation>} */
export const explain = (study, options) => json("GET", `${of(study)}/explain`, undefined, options);
/** @type {(study: string, options?: RequestOptions) => Promise<Estimates>} */
export const estimates = (study, options) => json("GET", `${of(study)}/estimates`, undefined, options);
/** @type {(study: string, options?: RequestOptions) => Promise<Frontier>} */
export const frontier = (study, options) => json("GET", `${of(study)}/frontier${query({ points: 40 })}`, undefined, options);
/** @type {(study: string, options?: RequestOptions) => Promise<History>} */
export const history = (study, options) => json("GET", `${of(study)}/history${query({ points: 400 })}`, undefined, options);
/** @type {(study: string, options?: RequestOptions) => Promise<Change[]>} */
export const changes = (study, options) =>
  json("GET", `${of(study)}/changes`, undefined, options).then((answer) => answer.changes);
/** @type {(study: string, body: ChangeBody) => Promise<unknown>} */
export const change = (study, body) => json("POST", `${of(study)}/changes`, body);
/** @type {(study: string) => Promise<Verification>} */
export const verify = (study) => json("GET", `${of(study)}/verify`);
/** @type {(study: string, format: ExportFormat) => Promise<Blob>} */
export const exportFile = async (study, format) =>
  (await request("GET", `${of(study)}/export${query({ format })}`)).blob();

/**
 * Sign in with a token if it is good enough to read; throw what the API says otherwise.
 *
 * @param {string} value
 */
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
