// How a handler under test makes its effects at the three destinations, and what it writes down of each: that the deadline
// was looked at, that it was sent, and what was answered.

import { AsyncLocalStorage } from "node:async_hooks";
import { LeaseholdError, UnknownOutcomeError } from "leasehold";
import { EffectRunningError, httpDestination, StaleTokenError } from "leasehold/destinations/http";
import { eitherSignal } from "../../../../dist/destinations/http/either-signal.js";
import { waitedForCpuMs } from "./cpu-wait.js";
import { decisionRow, EFFECTS, INSERT_DECISION } from "./decisions.js";
import { monotonicMs } from "./history-file.js";

/** @typedef {import("../../../../src/clock/world.ts").World} World */
/** @typedef {import("../../../../src/client/handler.ts").Lease} Lease */
/** @typedef {import("../../../../src/destinations/destination.ts").EffectLease} EffectLease */
/** @typedef {import("./decisions.js").Decision} Decision */
/** @typedef {import("./history-file.js").HistoryFile} HistoryFile */
/** @typedef {((decision: Decision["decision"], answer: unknown) => Decision) & { answer(row: unknown): unknown }} Told */
/**
 * @typedef {{
 *   readonly guard: import("../../../../src/destinations/destination.ts").Guard<any>,
 *   admitted(lease: EffectLease, effect: { step: string, request: unknown }, sql: string, params: unknown[], told: Told): Promise<unknown>,
 *   log(decision: Decision): Promise<void>,
 *   isStale(error: unknown): boolean,
 *   close(): Promise<void>,
 * }} GuardedDatabase
 */
/** @typedef {{ readonly job: string, readonly line: string, readonly generation: number, readonly owner: string, readonly key: string, readonly destination: string }} About */

export const DESTINATIONS = ["database", "http", "blind"];
export const STEPS = ["append", "compareAndSet", "count"];

/** For the destination's log alone: what a service of users would know of its own. */
export const ABOUT_HEADER = "x-effect";

/** No request to a service takes longer, ms: not so short that a pause on the way to it would be the end of it. */
const FETCH_MS = 5_000;

/** The effect that is being made, for whoever reaches the point at which it is sent. */
class EffectInFlight {
  #history;
  about;
  jobGeneration;
  request = 0;
  /** How long its thread had waited for a processor when this was written down last, ms. */
  #waitedMs = waitedForCpuMs();

  /**
   * @param {HistoryFile} history
   * @param {About} about
   * @param {number} jobGeneration
   */
  constructor(history, about, jobGeneration) {
    this.#history = history;
    this.about = about;
    this.jobGeneration = jobGeneration;
  }

  checked() {
    const { about, jobGeneration } = this;
    // The clock was read some moment before: a thread that then had to wait for a processor writes this down later.
    const atMs = monotonicMs();
    this.#history.note("check", { ...about, atMs, detail: { jobGeneration, waitedMs: this.#waited() } });
  }

  sent() {
    if (this.request !== 0) return;
    this.request = this.#history.nextRequest();
    const { request, about, jobGeneration } = this;
    const atMs = monotonicMs();
    const detail = { jobGeneration, waitedMs: this.#waited() };
    this.#history.append({ kind: "invoke", op: "write", request, ...about, atMs, detail });
  }

  /** Since it was asked last, ms. */
  #waited() {
    const beforeMs = this.#waitedMs;
    this.#waitedMs = waitedForCpuMs();
    return this.#waitedMs - beforeMs;
  }

  /**
   * @param {"ok" | "fail" | "info"} kind
   * @param {string} outcome
   * @param {Record<string, unknown>} [detail]
   */
  answered(kind, outcome, detail = {}) {
    if (this.request === 0) return;
    const { request, about, jobGeneration } = this;
    const all = { jobGeneration, ...detail };
    this.#history.append({ kind, op: "write", request, ...about, outcome, detail: all });
  }
}

export class Effects {
  #history;
  #runs;
  #world;
  #database;
  #http;
  #url;
  /** @type {AsyncLocalStorage<EffectInFlight>} */
  static #inFlight = new AsyncLocalStorage();

  /**
   * @param {HistoryFile} history
   * @param {import("./runs.js").Runs} runs
   * @param {World} world
   * @param {GuardedDatabase} database
   * @param {string} url of the process with the other destinations
   */
  constructor(history, runs, world, database, url) {
    this.#history = history;
    this.#runs = runs;
    this.#world = world;
    this.#database = database;
    this.#url = url;
    this.#http = httpDestination({ url, world });
  }

  /** The effect that is being made by whoever asks. */
  static get inFlight() {
    return Effects.#inFlight.getStore()?.about;
  }

  /**
   * A world that writes down when a deadline check has said yes, before anything goes wrong there, and when an effect is
   * sent, after whatever went wrong on the way.
   *
   * @param {World} world
   * @param {import("./faults.js").Faults} faults
   * @returns {World}
   */
  static worldWith(world, faults) {
    return {
      ...world,
      reached(point) {
        const effect = Effects.#inFlight.getStore();
        if (point === "after-deadline-check") effect?.checked();
        faults.reached(point);
        if (point === "before-effect-send") effect?.sent();
      },
    };
  }

  /**
   * @param {string} job
   * @param {Lease} lease
   * @param {string} destination
   * @param {string} step
   */
  make(job, lease, destination, step) {
    const { line, generation, owner } = lease.token;
    const key = `${lease.effectScope}/${step}`;
    const about = { job, line, generation, owner, key, destination };
    const effect = new EffectInFlight(this.#history, about, this.#runs.of(job, lease.token));
    return Effects.#inFlight.run(effect, async () => {
      try {
        const outcome = await this.#make(effect, lease, destination, step);
        effect.answered("ok", outcome);
      } catch (error) {
        const isUnknown = error instanceof UnknownOutcomeError || !(error instanceof LeaseholdError);
        const stale = this.#isStale(error);
        const { code, message } = /** @type {{ code?: string, message?: string }} */ (error);
        const detail = { error: code ?? String(error), message };
        effect.answered(stale || !isUnknown ? "fail" : "info", stale ? "stale" : "error", detail);
        throw error;
      }
    });
  }

  /**
   * @param {EffectInFlight} effect
   * @param {Lease} lease
   * @param {string} destination
   * @param {string} step
   */
  async #make(effect, lease, destination, step) {
    if (destination === "http") return this.#overHttp(effect, lease, step);
    if (destination === "blind") return this.#blindly(effect, lease, step);
    return this.#inDatabase(effect, lease, step);
  }

  /**
   * The first step by the guard's own transaction, the others in one of ours.
   *
   * @param {EffectInFlight} effect
   * @param {Lease} lease
   * @param {string} step
   */
  async #inDatabase({ about }, lease, step) {
    const { job, line, generation, owner, key } = about;
    const told = Object.assign(
      (/** @type {Decision["decision"]} */ decision, /** @type {unknown} */ answer) => ({
        atMs: null,
        decision,
        line,
        job,
        key,
        generation,
        owner,
        answer: JSON.stringify(answer),
      }),
      { answer: (/** @type {unknown} */ row) => ({ by: generation, owner, ...Object(row) }) },
    );
    const sql = EFFECTS[step] ?? "";
    const params = [job, String(generation)];
    const options = { step, request: { step } };
    try {
      if (step !== "append") {
        const answer = await this.#database.admitted(withoutSignal(lease), options, sql, params, told);
        return Object(answer).by === generation ? "applied" : "duplicate";
      }
      let isFresh = false;
      const answer = await this.#database.guard.write(lease, options, async (tx) => {
        const { rows } = await tx.query(sql, params);
        const made = told.answer(rows[0]);
        await tx.query(INSERT_DECISION, decisionRow("database", told("applied", made)));
        isFresh = true;
        return made;
      });
      if (!isFresh) await this.#database.log(told("duplicate", answer));
      return isFresh ? "applied" : "duplicate";
    } catch (error) {
      if (this.#isStale(error)) await this.#database.log(told("stale", null));
      throw error;
    }
  }

  /**
   * @param {EffectInFlight} effect
   * @param {Lease} lease
   * @param {string} step
   */
  async #overHttp({ about }, lease, step) {
    const headers = { [ABOUT_HEADER]: JSON.stringify(about) };
    // Most do not give up a request when the lease ends: so late ones arrive, and have to be refused.
    const own = about.generation % 4 === 0 ? lease : withoutSignal(lease);
    for (;;) {
      try {
        const init = { method: "POST", body: step, step, headers, signal: AbortSignal.timeout(FETCH_MS) };
        const response = await this.#http.fetch(own, `/guarded/${step}`, init);
        if (!response.ok) throw new Error(`the service answered ${response.status}`);
        const { by } = /** @type {{ by: number }} */ (await response.json());
        return by === about.generation ? "applied" : "duplicate";
      } catch (error) {
        if (!(error instanceof EffectRunningError)) throw error;
        await new Promise((resolve) => setTimeout(resolve, error.retryInMs).unref());
      }
    }
  }

  /**
   * What nothing protects: it looks at the deadline, as all do, and sends.
   *
   * @param {EffectInFlight} effect
   * @param {Lease} lease
   * @param {string} step
   */
  async #blindly({ about }, lease, step) {
    lease.assertTrusted();
    this.#world.reached("before-effect-send");
    const either = eitherSignal([lease.signal, AbortSignal.timeout(FETCH_MS)]);
    const response = await fetch(new URL(`/blind/${step}`, this.#url), {
      method: "POST",
      headers: { [ABOUT_HEADER]: JSON.stringify(about) },
      signal: either.signal,
    }).finally(either.release);
    this.#world.reached("after-effect-reply");
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    return "applied";
  }

  /** @param {unknown} error */
  #isStale(error) {
    return error instanceof StaleTokenError || this.#database.isStale(error);
  }
}

/**
 * @param {Lease} lease
 * @returns {EffectLease & { assertTrusted(): void }}
 */
function withoutSignal(lease) {
  const { token, effectScope } = lease;
  return { token, effectScope, assertTrusted: () => lease.assertTrusted() };
}
