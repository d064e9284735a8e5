import { fileURLToPath } from "node:url";
import { Child } from "../../../support/child.ts";
import type { Condition } from "../processes/link.js";

const FILE = fileURLToPath(new URL("../processes/link.js", import.meta.url));

/** A way of its own for each worker to a server of this machine. */
export class Links {
  /** Of each worker's way. */
  readonly ports: readonly number[];
  readonly #child: Child;
  #orders = 0;

  private constructor(child: Child, ports: readonly number[]) {
    this.#child = child;
    this.ports = ports;
  }

  static async to(port: number, workers: number): Promise<Links> {
    const child = new Child(FILE, [port, workers]);
    return new Links(child, (await child.tells("listening")) as number[]);
  }

  /** From now on; without a condition all goes through at once. */
  async becomes(worker: number, condition: Condition = {}): Promise<void> {
    await this.#order({ link: worker, condition });
  }

  /** The connections that there are; others may be made at once. */
  async reset(worker: number): Promise<void> {
    await this.#order({ link: worker, condition: {}, reset: true });
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
