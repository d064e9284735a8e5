// Ways to a server, in a process of their own: each name is a port that leads where it was last pointed at. When it is
// pointed elsewhere, the connections through it end.

import { connect, createServer } from "node:net";

/** @typedef {{ readonly order: number, readonly way: string, readonly port: number }} Move */

class Way {
  #target;
  /** @type {Set<import("node:net").Socket>} */
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

  /** @param {number} target */
  move(target) {
    this.#target = target;
    for (const socket of this.#open) socket.destroy();
  }

  /** @param {import("node:net").Socket} here */
  #lead(here) {
    const there = connect(this.#target, "127.0.0.1");
    const pair = [here, there];
    for (const socket of pair) {
      this.#open.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#open.delete(socket);
        for (const each of pair) each.destroy();
      });
    }
    here.pipe(there).pipe(here);
  }
}

const [, , target, ...names] = process.argv;
const ways = new Map(names.map((name) => [name, new Way(Number(target))]));
/** @type {Record<string, number>} */
const ports = {};
for (const [name, way] of ways) ports[name] = await way.listen();
process.on("message", (/** @type {Move} */ { order, way, port }) => {
  ways.get(way)?.move(port);
  process.send?.({ what: `moved ${order}` });
});
// The controller is gone.
process.on("disconnect", () => process.exit());
process.send?.({ what: "listening", detail: ports });
