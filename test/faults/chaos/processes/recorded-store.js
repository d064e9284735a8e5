// A store that writes down what it is asked and what it answers, each member of a batch for itself, and can lose a reply.

import { StoreBusyError, UnknownOutcomeError } from "leasehold";

/** @typedef {import("../../../../src/stores/store.ts").Store} Store */
/** @typedef {import("../../../../src/stores/store.ts").ClaimRequest} ClaimRequest */
/** @typedef {import("../../../../src/stores/store.ts").Claimed} Claimed */
/** @typedef {import("../../../../src/protocol/identity.ts").Fence} Fence */
/** @typedef {import("../../../../src/protocol/settle.ts").Settlement} Settlement */
/** @typedef {import("./history-file.js").HistoryFile} HistoryFile */
/** @typedef {import("./history-file.js").About} About */
/** @typedef {(...args: any[]) => Promise<any>} Call */

/** What of a store's members is a call on jobs by their ids. */
const BY_ID = ["cancel", "revoke", "retry", "delete"];

/** @param {Fence} fence */
const ofFence = ({ jobId, owner, generation }) => ({ job: jobId, line: `job:${jobId}`, owner, generation });

/** What is asked for, by member. @type {Record<string, (args: any[]) => About[]>} */
const ASKED = {
  enqueue: ([jobs]) => jobs.map((/** @type {{ jobId: string }} */ job) => ({ job: job.jobId })),
  renew: ([fences]) => fences.map(ofFence),
  settle: ([settlements]) =>
    settlements.map((/** @type {Settlement} */ { operation, fence }) => ({
      ...ofFence(fence),
      outcome: operation,
    })),
  heal: ([fence, mark]) => [{ ...ofFence(fence), detail: { mark } }],
};
for (const op of BY_ID) ASKED[op] = ([ids]) => ids.map((/** @type {string} */ job) => ({ job }));

/**
 * @param {Store} store
 * @param {HistoryFile} history
 * @param {{ losesReply(op: string): number | undefined }} faults
 * @param {Partial<Store>} [instead] members to be shown instead of the store's own
 * @returns {Store}
 */
export function recordedStore(store, history, faults, instead = {}) {
  const recorder = new Recorder(history, faults);
  /** @type {Map<string | symbol, unknown>} */
  const members = new Map(Object.entries(instead));
  return new Proxy(store, {
    get(target, name) {
      if (members.has(name)) return members.get(name);
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = member.bind(target);
      const recorded = typeof name === "string" ? recorder.recorded(name, call) : call;
      members.set(name, recorded);
      return recorded;
    },
  });
}

/**
 * The `renew` of a renewer thread's own connection.
 *
 * @param {Call} renew
 * @param {HistoryFile} history
 * @param {{ losesReply(op: string): number | undefined }} faults
 */
export function recordedRenew(renew, history, faults) {
  return new Recorder(history, faults).recorded("renew", renew);
}

class Recorder {
  #history;
  #faults;

  /**
   * @param {HistoryFile} history
   * @param {{ losesReply(op: string): number | undefined }} faults
   */
  constructor(history, faults) {
    this.#history = history;
    this.#faults = faults;
  }

  /**
   * @param {string} op
   * @param {Call} call
   * @returns {Call}
   */
  recorded(op, call) {
    if (op === "claim")
      return (/** @type {ClaimRequest} */ request, ...rest) => this.#claim(call, request, rest);
    if (op === "completeWith") return (fence, ...rest) => this.#completeWith(call, fence, rest);
    const asked = ASKED[op];
    if (asked === undefined) return call;
    return (...args) => this.#batch(op, call, args, asked(args));
  }

  /**
   * @param {Call} call
   * @param {ClaimRequest} request
   * @param {unknown[]} rest
   */
  async #claim(call, request, rest) {
    const { owner, takeover, limit } = request;
    const requests = [this.#invoke("claim", { owner, detail: { takeover, limit } })];
    /** @type {Claimed} */
    const claimed = await this.#answered("claim", requests, () => call(request, ...rest));
    const [number = 0] = requests;
    for (const { job, token, previous } of claimed.jobs) {
      const about = { job: job.jobId, line: token.line, owner, generation: token.generation };
      const detail = { ...(previous && { previous }), jobGeneration: job.generation, attempt: job.attempt };
      this.#history.append({ kind: "ok", op: "claim", request: number, ...about, detail });
    }
    const ended = claimed.ended.map(({ jobId }) => jobId);
    const detail = { jobs: claimed.jobs.length, ended };
    this.#history.append({ kind: "ok", op: "claim", request: number, owner, detail });
    return claimed;
  }

  /**
   * @param {Call} call
   * @param {Fence} fence
   * @param {unknown[]} rest
   */
  async #completeWith(call, fence, rest) {
    const about = { ...ofFence(fence), outcome: "complete" };
    const requests = [this.#invoke("settle", { ...about, detail: { with: "body" } })];
    await this.#answered("settle", requests, () => call(fence, ...rest));
    this.#answer("settle", requests[0] ?? 0, ofFence(fence), { outcome: "applied" });
  }

  /**
   * @param {string} op
   * @param {Call} call
   * @param {unknown[]} args
   * @param {About[]} members
   */
  async #batch(op, call, args, members) {
    const requests = members.map((about) => this.#invoke(op, about));
    const answer = await this.#answered(op, requests, () => call(...args));
    const answers = Array.isArray(answer) ? answer : [answer];
    for (const [i, about] of members.entries()) this.#answer(op, requests[i] ?? 0, about, answers[i]);
    return answer;
  }

  /**
   * @param {string} op
   * @param {About} about
   */
  #invoke(op, about) {
    const request = this.#history.nextRequest();
    this.#history.append({ kind: "invoke", op, request, ...about });
    return request;
  }

  /**
   * What came back, unless the call failed or its reply is to be lost.
   *
   * @template Answer
   * @param {string} op
   * @param {number[]} requests
   * @param {() => Promise<Answer>} call
   */
  async #answered(op, requests, call) {
    try {
      const answer = await call();
      const lostMs = requests.length === 0 ? undefined : this.#faults.losesReply(op);
      if (lostMs === undefined) return answer;
      await new Promise((resolve) => setTimeout(resolve, lostMs).unref()); // its caller may be gone by then
      throw new UnknownOutcomeError(op, new Error("the reply was lost by the harness"));
    } catch (error) {
      const kind = error instanceof UnknownOutcomeError ? "info" : "fail";
      const { code, message, cause } = /** @type {{ code?: string, message?: string, cause?: unknown }} */ (
        error
      );
      const detail = {
        error: code ?? String(error),
        message,
        ...(cause === undefined ? {} : { cause: String(cause) }),
      };
      const outcome = error instanceof StoreBusyError ? { outcome: "busy" } : {};
      for (const request of requests) this.#history.append({ kind, op, request, ...outcome, detail });
      throw error;
    }
  }

  /**
   * @param {string} op
   * @param {number} request
   * @param {About} about
   * @param {{ outcome: string, jobId?: string } | undefined} answer
   */
  #answer(op, request, about, answer) {
    const { outcome = "busy", jobId, ...detail } = answer ?? {};
    const isDone = !["stale", "gone", "busy", "conflict", "too_high"].includes(outcome);
    const named = jobId === undefined || jobId === about.job ? {} : { named: jobId };
    const kind = isDone ? "ok" : "fail";
    this.#history.append({ kind, op, request, ...about, outcome, detail: { ...detail, ...named } });
  }
}
