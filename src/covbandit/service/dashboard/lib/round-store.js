// The rounds known to this page. The API lists rounds by the revision of their last change, oldest first; the newest
// are read by asking for those after a revision a little below the study's, and older ones window by window.

import * as api from "./api.js";

const WINDOW = 120; // revisions; an asked and told round has used two
const LIMIT = 200;

/** @import { RequestOptions, Round, Rounds, RoundStatus } from "./types.d.ts" */

export class RoundStore {
  #restored = false; // a round that this page knows is another one now

  /**
   * @param {string} study its name
   * @param {number} revision of the study now
   */
  constructor(study, revision) {
    this.study = study;
    /** @type {Map<number, Round>} */
    this.rounds = new Map();
    this.cursor = revision; // everything up to here is known, from `low` on
    this.low = revision;
    this.studyRevision = revision;
  }

  /**
   * Read rounds changed after a revision, up to `until`.
   *
   * @param {number} after
   * @param {number} until
   * @param {RequestOptions} [options]
   * @returns {Promise<Rounds>} the last answer
   */
  async #read(after, until, options) {
    let from = after;
    for (;;) {
      const answer = await api.rounds(this.study, { after: from, limit: LIMIT }, options);
      for (const round of answer.rounds) this.#keep(round);
      if (!answer.more || answer.revision <= from || answer.revision >= until) return answer;
      from = answer.revision;
    }
  }

  /** @param {Round} round */
  #keep(round) {
    const known = this.rounds.get(round.id);
    if (known !== undefined && known.asked_at !== round.asked_at) this.#restored = true;
    if (known === undefined || known.revision <= round.revision) this.rounds.set(round.id, round);
  }

  /** True if no older round is left to read. */
  get complete() {
    return this.low <= 0;
  }

  /**
   * Read one window of older rounds.
   *
   * @param {RequestOptions} [options]
   */
  async older(options) {
    const upper = this.low;
    const lower = Math.max(0, upper - WINDOW);
    await this.#read(lower, upper, options);
    this.low = lower;
  }

  /**
   * Read what changed since; return true if anything did, rounds or configuration.
   *
   * @param {RequestOptions} options
   */
  async poll(options) {
    // From one revision earlier: what was last there must still be so.
    const answer = await this.#read(Math.max(0, this.cursor - 1), Infinity, options);
    if (this.#restored || answer.study_revision < this.cursor) return this.#startAgain(answer.study_revision, options);
    this.cursor = Math.max(this.cursor, answer.revision);
    const changed = answer.study_revision !== this.studyRevision;
    this.studyRevision = answer.study_revision;
    return changed;
  }

  /**
   * Read all again: the store was restored from a copy, and revisions and rounds are others than those this page knows.
   *
   * @param {number} revision
   * @param {RequestOptions} options
   */
  async #startAgain(revision, options) {
    this.rounds.clear();
    this.#restored = false;
    this.cursor = this.low = this.studyRevision = revision;
    await Promise.all([this.older(options), this.ofStatus("open", options), this.ofStatus("expired", options)]);
    return true;
  }

  /**
   * Read all rounds of one status, however old: those that wait for an outcome matter most.
   *
   * @param {RoundStatus} status
   * @param {RequestOptions} [options]
   */
  async ofStatus(status, options) {
    let after = 0;
    for (let page = 0; page < 5; page += 1) {
      const answer = await api.rounds(this.study, { after, limit: LIMIT, status }, options);
      for (const round of answer.rounds) this.#keep(round);
      if (!answer.more || answer.revision <= after) return;
      after = answer.revision;
    }
  }

  /** @param {Round} round */
  put(round) {
    this.#keep(round);
  }

  /** Most recently changed first. */
  sorted() {
    return [...this.rounds.values()].sort((a, b) => b.revision - a.revision || b.id - a.id);
  }

  /** Those without an outcome, oldest first. */
  waiting() {
    return [...this.rounds.values()].filter((round) => round.status !== "told").sort((a, b) => a.id - b.id);
  }
}

/**
 * The status of a round now: one whose lease ends while the page is open is overdue before the store says so.
 *
 * @param {Round} round
 * @param {number} now in milliseconds
 * @returns {RoundStatus}
 */
export function statusOf(round, now = Date.now()) {
  return round.status === "open" && round.expires !== null && Date.parse(round.expires) <= now ? "expired" : round.status;
}
