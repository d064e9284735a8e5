// What a process does to itself when it is told to. The controller arms a fault, and the process strikes at the next fault
// point that fits, in whichever thread reaches it: both look at the same cells.

import { writeSync } from "node:fs";
import { monotonicMs } from "./history-file.js";

/** @typedef {import("../../../../src/clock/world.ts").FaultPoint} FaultPoint */
/** @typedef {import("./history-file.js").HistoryFile} HistoryFile */
/** @typedef {"pause" | "kill" | "blocked loop" | "throw" | "writer frozen" | "writer killed"} Action */
/** @typedef {"claim" | "renew" | "settle" | "enqueue"} LosableReply */
/** @typedef {{ readonly points: readonly FaultPoint[], readonly action: Action, readonly ms: number, readonly request: number, readonly fenced?: boolean }} Aimed */
/** @typedef {{ readonly replyOf: LosableReply, readonly ms: number, readonly request: number }} LostReply */

/** @type {readonly FaultPoint[]} */
export const POINTS = [
  "after-claim-reply",
  "after-deadline-check",
  "before-effect-send",
  "after-effect-reply",
  "before-complete-send",
  "after-complete-reply",
  "in-renewal",
  "in-shutdown",
  "in-store-transaction",
];
/** @type {readonly Action[]} */
const ACTIONS = ["pause", "kill", "blocked loop", "throw", "writer frozen", "writer killed"];
/** @type {Partial<Record<Action, NodeJS.Signals>>} */
const SIGNALS = { pause: "SIGSTOP", kill: "SIGKILL", "writer frozen": "SIGSTOP", "writer killed": "SIGKILL" };
/** @type {readonly LosableReply[]} */
const REPLIES = ["claim", "renew", "settle", "enqueue"];

/** Beside the action: not where the effect goes to a destination without a fence. */
const FENCED = 1 << 8;

// Two places, for a fault point and for a reply to be lost; each has four cells, the first of which says for what it is armed.
const POINT = 0;
const REPLY = 4;

/** The pipe on which a process says, synchronously, that it has struck, or will not. */
const STRUCK_PIPE = 4;
/** A signal to oneself may take a moment: what comes after it must not run meanwhile. */
const UNTIL_STOPPED_MS = 5;

/**
 * @param {readonly string[]} names
 * @param {string} name
 */
const bit = (names, name) => (names.includes(name) ? 1 << names.indexOf(name) : 0);

/** Thrown at a fault point; no other code throws it. */
export class InjectedError extends Error {}

export class Faults {
  /** To be handed to the process's other threads. */
  buffer;
  /** What the process is at when it strikes, for whoever waits for others to go on with it. @type {() => Record<string, unknown>} */
  isAt = () => ({});
  #cells;
  #history;
  #target;

  /**
   * @param {HistoryFile} history
   * @param {string} target the process that this is
   * @param {SharedArrayBuffer} [buffer]
   */
  constructor(history, target, buffer = new SharedArrayBuffer(8 * Int32Array.BYTES_PER_ELEMENT)) {
    this.#history = history;
    this.#target = target;
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  /** @param {Aimed | LostReply} fault */
  arm(fault) {
    const [place, armed, how] =
      "points" in fault
        ? [
            POINT,
            fault.points.reduce((all, point) => all | bit(POINTS, point), 0),
            ACTIONS.indexOf(fault.action),
          ]
        : [REPLY, bit(REPLIES, fault.replyOf), 0];
    this.#cells[place + 1] = how;
    this.#cells[place + 2] = fault.ms;
    this.#cells[place + 3] = fault.request;
    Atomics.store(this.#cells, place, armed);
  }

  /** Whoever armed it is told, after whatever has struck meanwhile. @param {number} request */
  disarm(request) {
    Atomics.store(this.#cells, POINT, 0);
    Atomics.store(this.#cells, REPLY, 0);
    writeSync(STRUCK_PIPE, `${JSON.stringify({ disarmed: request })}\n`);
  }

  /** @param {FaultPoint} point */
  reached(point) {
    if (((this.#cells[POINT + 1] ?? 0) & FENCED) !== 0 && this.isAt()["destination"] === "blind") return;
    const fault = this.#taken(POINT, bit(POINTS, point));
    if (fault === undefined) return;
    const action = ACTIONS[fault.how & ~FENCED];
    const at = action === "pause" ? this.isAt() : {};
    this.#begin(action, fault.request, { aimed: true, point, ms: fault.ms, ...at });
    const signal = action && SIGNALS[action];
    if (signal !== undefined) {
      process.kill(process.pid, signal);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, UNTIL_STOPPED_MS);
      return;
    }
    if (action === "blocked loop") {
      const endMs = monotonicMs() + fault.ms;
      while (monotonicMs() < endMs);
    }
    this.#end(action, fault.request);
    if (action === "throw") throw new InjectedError(`thrown at ${point} by the harness`);
  }

  /**
   * Whether the reply that has just come is to be lost, and after how long that is noticed, ms.
   *
   * @param {string} op
   */
  losesReply(op) {
    const fault = this.#taken(REPLY, bit(REPLIES, op));
    if (fault === undefined) return undefined;
    this.#begin("lost reply", fault.request, { replyOf: op });
    this.#end("lost reply", fault.request);
    return fault.ms;
  }

  /**
   * @param {number} place
   * @param {number} wanted
   */
  #taken(place, wanted) {
    const armed = Atomics.load(this.#cells, place);
    if ((armed & wanted) === 0) return undefined;
    const [how = 0, ms = 0, request = 0] = this.#cells.subarray(place + 1, place + 4);
    return Atomics.compareExchange(this.#cells, place, armed, 0) === armed ? { how, ms, request } : undefined;
  }

  /**
   * @param {string | undefined} op
   * @param {number} request
   * @param {Record<string, unknown>} detail
   */
  #begin(op = "", request, detail) {
    this.#nemesis("invoke", op, request, detail);
    writeSync(STRUCK_PIPE, `${JSON.stringify({ struck: request, ...detail })}\n`);
  }

  /**
   * @param {string | undefined} op
   * @param {number} request
   */
  #end(op = "", request) {
    this.#nemesis("ok", op, request);
  }

  /**
   * @param {"invoke" | "ok"} kind
   * @param {string} op
   * @param {number} request
   * @param {Record<string, unknown>} [detail]
   */
  #nemesis(kind, op, request, detail) {
    const rest = detail === undefined ? {} : { detail };
    this.#history.append({
      process: "nemesis",
      incarnation: 1,
      kind,
      op,
      request,
      target: this.#target,
      ...rest,
    });
  }
}
