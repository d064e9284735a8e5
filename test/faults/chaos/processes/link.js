// Ways to a server, in a process of their own: one port for each worker, on which what is said may be delayed, held up in
// one direction, let through a few bytes at a time, or cut off with a reset. Whoever sends faster is made to wait.

import { connect, createServer } from "node:net";
import { monotonicMs } from "./history-file.js";

/** @typedef {"requests" | "replies"} Way */
/** @typedef {{ readonly delayMs?: Partial<Record<Way, number>>, readonly holds?: Way, readonly bytesPerSecond?: number }} Condition */
/** @typedef {{ readonly order: number, readonly link: number, readonly condition: Condition, readonly reset?: boolean }} LinkOrder */
/** @typedef {import("node:net").Socket} Socket */

/** What is on the way in one direction; beyond it the sender is not read from. */
const MOST_BYTES = 65_536;
/** At a limited rate, how many pieces go through each second. */
const PIECES_PER_SECOND = 20;

class Direction {
  #from;
  #to;
  #way;
  #link;
  /** @type {{ readonly dueMs: number, readonly bytes: Buffer }[]} */
  #queue = [];
  #queuedBytes = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {Socket} from
   * @param {Socket} to
   * @param {Way} way
   * @param {Link} link
   */
  constructor(from, to, way, link) {
    this.#from = from;
    this.#to = to;
    this.#way = way;
    this.#link = link;
    from.on("data", (bytes) => this.#take(bytes));
    to.on("drain", () => this.goOn());
  }

  /** What was held up before may go now; or not any more. */
  goOn() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { holds, bytesPerSecond } = this.#link.condition;
    while (holds !== this.#way && !this.#to.writableNeedDrain) {
      const next = this.#queue[0];
      if (next === undefined) break;
      const leftMs = next.dueMs - monotonicMs();
      if (leftMs > 0) {
        this.#wait(leftMs);
        break;
      }
      const most = bytesPerSecond === undefined ? next.bytes.length : bytesPerSecond / PIECES_PER_SECOND;
      this.#send(Math.ceil(most));
      if (bytesPerSecond === undefined) continue;
      this.#wait(1_000 / PIECES_PER_SECOND);
      break;
    }
    if (this.#queuedBytes < MOST_BYTES) this.#from.resume();
  }

  end() {
    clearTimeout(this.#timer);
  }

  /** @param {Buffer} bytes */
  #take(bytes) {
    const delayMs = this.#link.condition.delayMs?.[this.#way] ?? 0;
    // Nothing overtakes what was sent before it.
    const dueMs = Math.max(monotonicMs() + delayMs, this.#queue.at(-1)?.dueMs ?? 0);
    this.#queue.push({ dueMs, bytes });
    this.#queuedBytes += bytes.length;
    if (this.#queuedBytes >= MOST_BYTES) this.#from.pause();
    if (this.#timer === undefined) this.goOn();
  }

  /** @param {number} most bytes */
  #send(most) {
    const next = this.#queue.shift();
    if (next === undefined) return;
    const { dueMs, bytes } = next;
    if (bytes.length > most) this.#queue.unshift({ dueMs, bytes: bytes.subarray(most) });
    const now = bytes.subarray(0, most);
    this.#queuedBytes -= now.length;
    this.#to.write(now);
  }

  /** @param {number} ms */
  #wait(ms) {
    this.#timer = setTimeout(() => this.goOn(), ms);
  }
}

class Link {
  /** @type {Condition} */
  condition = {};
  #target;
  /** @type {Set<readonly [Socket, Socket, Direction, Direction]>} */
  #open = new Set();
  #server = createServer((here) => this.#lead(here));

  /** @param {number} target a port of this machine */
  constructor(target) {
    this.#target = target;
  }

  /** @returns {Promise<number>} its own port */
  listen() {
    return new Promise((resolve) =>
      this.#server.listen(0, "127.0.0.1", () => {
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      }),
    );
  }

  /** @param {Condition} condition */
  becomes(condition) {
    this.condition = condition;
    for (const [, , requests, replies] of this.#open) {
      requests.goOn();
      replies.goOn();
    }
  }

  reset() {
    for (const [here, there] of this.#open) {
      here.resetAndDestroy();
      there.destroy();
    }
  }

  /** @param {Socket} here */
  #lead(here) {
    const there = connect(this.#target, "127.0.0.1");
    const requests = new Direction(here, there, "requests", this);
    const replies = new Direction(there, here, "replies", this);
    const connection = /** @type {const} */ ([here, there, requests, replies]);
    this.#open.add(connection);
    for (const socket of [here, there]) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#open.delete(connection);
        for (const direction of [requests, replies]) direction.end();
        here.destroy();
        there.destroy();
      });
    }
  }
}

const [, , target, count] = process.argv;
const links = Array.from({ length: Number(count) }, () => new Link(Number(target)));
const ports = await Promise.all(links.map((link) => link.listen()));
process.on("message", (/** @type {LinkOrder} */ { order, link, condition, reset }) => {
  links[link]?.becomes(condition);
  if (reset) links[link]?.reset();
  process.send?.({ what: `done ${order}` });
});
// The controller is gone.
process.on("disconnect", () => process.exit());
process.send?.({ what: "listening", detail: ports });
