/** Scripts on the server: by their SHA-1, with a deadline, and where that is asked for until replicas have them. */

import type { World } from "../../clock/world.ts";
import { InvalidArgumentError, UnknownOutcomeError } from "../../errors.ts";
import type { Channel } from "./client.ts";
import type { CheckedOptions } from "./options.ts";
import type { Script } from "./scripts.ts";

export interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer)[];
}

export class Server {
  readonly #channel: Channel;
  readonly #world: World;
  readonly #options: CheckedOptions;

  /** @throws {InvalidArgumentError} replicas are asked for and the client has many connections */
  constructor(channel: Channel, world: World, options: CheckedOptions) {
    if (options.replicas > 0 && !channel.isOneConnection) {
      throw new InvalidArgumentError(
        "replicas",
        options.replicas,
        "0 with a pool or a cluster: WAIT answers for the writes of its own connection alone",
      );
    }
    this.#channel = channel;
    this.#world = world;
    this.#options = options;
  }

  get isCluster(): boolean {
    return this.#channel.isCluster;
  }

  /** @throws what the client throws, or an error when there is no answer in time */
  async run(call: Call): Promise<unknown> {
    return this.#inTime(this.#orText(call));
  }

  /**
   * Runs it, and tells whether enough replicas have all that it wrote.
   *
   * @returns `why` when they do not, or nobody knows
   */
  async replicated(call: Call): Promise<{ readonly reply: unknown; readonly why?: string }> {
    if (this.#options.replicas === 0) return { reply: await this.run(call) };
    return this.#inTime(this.#orText(call, (send) => this.#between(send)) as Promise<{ reply: unknown }>);
  }

  /** Servers forget scripts: when they restart, fail over, or are told to. */
  async #orText<Result>(
    { script, keys, args }: Call,
    around: (send: () => Promise<unknown>) => Promise<Result> = (send) => send() as Promise<Result>,
  ): Promise<Result> {
    try {
      return await around(() => this.#channel.evalSha(script, keys, args));
    } catch (error) {
      if (!/^NOSCRIPT/.test((error as Error)?.message)) throw error;
      return around(() => this.#channel.evalText(script, keys, args));
    }
  }

  /**
   * WAIT answers for what its own server has written when it last ran something of its connection, be it a repeat that
   * writes nothing. A client may be connected anew, to another server even, between the write and WAIT; so both ends are
   * asked for the connection's number, all four sent together.
   */
  async #between(send: () => Promise<unknown>): Promise<{ reply: unknown; why?: string }> {
    const { replicas, replicasTimeoutMs } = this.#options;
    const [before, made, had, after] = await Promise.allSettled([
      this.#channel.command("CLIENT", "ID"),
      send(),
      this.#channel.command("WAIT", String(replicas), String(replicasTimeoutMs)),
      this.#channel.command("CLIENT", "ID"),
    ]);
    if (made.status === "rejected") throw made.reason;
    for (const each of [before, had, after])
      if (each.status === "rejected") return { reply: made.value, why: String(each.reason) };
    const [first, count, last] = [before, had, after].map((each) =>
      Number((each as { value: unknown }).value),
    );
    if (first !== last) return { reply: made.value, why: "the connection was lost before WAIT had answered" };
    if ((count as number) >= replicas) return { reply: made.value };
    return {
      reply: made.value,
      why: `${count} of ${replicas} replicas have it after ${replicasTimeoutMs} ms`,
    };
  }

  /** With a timer and no signal: that would cost more than all else of a call. */
  #inTime<Result>(answer: Promise<Result>): Promise<Result> {
    const { timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`no answer after ${timeoutMs} ms`));
      const timer = this.#world.timers.after(timeoutMs, late);
      answer.finally(() => timer.cancel()).then(resolve, reject);
    });
  }
}

export function notReplicated(operation: string, why: string): UnknownOutcomeError {
  return new UnknownOutcomeError(operation, new Error(why), {
    who: "Redis's replicas",
    next: "Repeat it with the same step: the server has it, and a failover may lose it",
  });
}
