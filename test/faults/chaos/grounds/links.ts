import { fileURLToPath } from "node:url";
import { Child } from "../../../support/child.ts";
import type { Condition } from "../processes/link.js";

const FILE = fileURLToPath(new URL("../processes/link.js", import.meta.url));

/** A way of its own for each of some workers to a server of this machine. */
export class Links {
  /** By worker. */
  readonly ports: ReadonlyMap<number, number>;
  readonly #child: Child;
  #orders = 0;

  private constructor(child: Child, ports: ReadonlyMap<number, number>) {
    this.#child = child;
    this.ports = ports;
  }

  static async to(port: number, workers: readonly number[]): Promise<Links> {
    const child = new Child(FILE, [port, workers.length]);
    const ports = (await child.tells("listening")) as number[];
    return new Links(child, new Map(workers.map((worker, n) => [worker, ports[n] ?? 0])));
  }

  /** From now on; without a condition all goes through at once. */
  async becomes(worker: number, condition: Condition = {}): Promise<void> {
    await this.#order({ link: this.#linkOf(worker), condition });
  }

  /** The connections that there are; others may be made at once. */
  async reset(worker: number): Promise<void> {
    await this.#order({ link: this.#linkOf(worker), condition: {}, reset: true });
  }

  #linkOf(worker: number): number {
    return [...this.ports.keys()].indexOf(worker);
  }

  async close(): Promise<void> {
    await this.#child.kill();
  }

  async #order(what: object): Promise<void> {
    this.#orders += 1;
    const order = this.#orders;
    this.#child.process.send({ order, ...what });
    await this.#child.tells(`done ${order}`);
  }
}
