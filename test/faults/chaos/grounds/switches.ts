import { fileURLToPath } from "node:url";
import { Child } from "../../../support/child.ts";
import type { OwnServer } from "../../../support/own-server.ts";

const FILE = fileURLToPath(new URL("../processes/switch.js", import.meta.url));

/** Ways to whichever server they are pointed at, by name. */
export class Switches<Name extends string> {
  readonly #child: Child;
  readonly #ports: Readonly<Record<Name, number>>;
  #orders = 0;

  private constructor(child: Child, ports: Readonly<Record<Name, number>>) {
    this.#child = child;
    this.#ports = ports;
  }

  static async to<Name extends string>(server: OwnServer, names: readonly Name[]): Promise<Switches<Name>> {
    const child = new Child(FILE, [server.port, ...names]);
    return new Switches<Name>(child, (await child.tells("listening")) as Record<Name, number>);
  }

  url(name: Name): string {
    return `postgres://postgres@127.0.0.1:${this.#ports[name]}/postgres`;
  }

  /** Whoever is connected by that way has to connect again, and is led to that server. */
  async move(name: Name, { port }: OwnServer): Promise<void> {
    this.#orders += 1;
    const order = this.#orders;
    this.#child.process.send({ order, way: name, port });
    await this.#child.tells(`moved ${order}`);
  }

  async close(): Promise<void> {
    await this.#child.kill();
  }
}
