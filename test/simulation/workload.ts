import { defineJob, type JobDefinition } from "../../src/client/define-job.ts";
import type { RunContext } from "../../src/client/handler.ts";
import { FinalError } from "../../src/errors.ts";
import type { QueueLimit } from "../../src/protocol/limit.ts";
import type { Backoff } from "../../src/protocol/retry.ts";
import type { Chance } from "./chance.ts";
import type { ClusterTerms } from "./cluster.ts";
import type { Effects } from "./effects.ts";

export type Kit = "ledger" | "guard" | "http";

/** What every run of a simulation draws once: sizes, lengths and what it makes use of, so that no constant stands for all. */
export interface Terms {
  readonly processes: number;
  readonly jobs: number;
  readonly leaseMs: number;
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly resources: number;
  readonly effects: number;
  readonly longestMs: number;
  readonly pollMs: number;
  readonly callTimeoutMs: number;
  /** Of the destination. */
  readonly effectTimeoutMs: number;
  readonly graceMs: number;
  readonly maxRunMs: number | undefined;
  readonly backoff: Backoff;
  readonly failing: number;
  readonly hanging: number;
  readonly safetyMs: number;
  readonly cluster: ClusterTerms;
  readonly kit: Kit;
  readonly queues: number;
  readonly limit: QueueLimit | undefined;
  /** Whether handlers record what they have done by steps. */
  readonly hasSteps: boolean;
  readonly onUnknown: "run" | "throw" | "ask";
  /** How many of the handlers end their jobs themselves, in a transaction. */
  readonly completing: number;
  /** How many jobs wait for others, have a key, come as a batch, are delayed. */
  readonly waiting: number;
  readonly keyed: number;
  readonly batches: number;
  readonly delayed: number;
  readonly everyMs: number | undefined;
}

/** @param draw a chance of its own, so that a new term does not change what else is drawn */
export function drawTerms(draw: Chance): Terms {
  const leaseMs = Math.round(250 * 4 ** draw.next());
  const maybe = (probability: number, from: number, to: number): number =>
    draw.happens(probability) ? draw.between(from, to) : 0;
  return {
    processes: draw.whole(2, 4),
    jobs: draw.whole(2, 8),
    leaseMs,
    concurrency: draw.whole(1, 3),
    maxAttempts: draw.whole(1, 8),
    resources: draw.happens(0.5) ? 0 : draw.whole(1, 2),
    effects: draw.whole(1, 3),
    longestMs: leaseMs * draw.between(0.1, 1.5),
    pollMs: draw.whole(20, 400),
    // A message and its reply take up to 90 ms where nothing goes wrong.
    callTimeoutMs: draw.whole(100, 1_500),
    effectTimeoutMs: draw.whole(100, 1_500),
    graceMs: Math.round(leaseMs * draw.between(0, 1)),
    maxRunMs: draw.happens(0.8) ? undefined : Math.round(leaseMs * draw.between(0.5, 4)),
    backoff: {
      kind: draw.of(["fixed", "exponential"]),
      baseMs: draw.whole(1, 200),
      capMs: draw.whole(200, 1_000),
      jitter: draw.of(["none", "full"]),
    },
    failing: maybe(0.5, 0.05, 0.4),
    hanging: maybe(0.3, 0.05, 0.3),
    safetyMs: draw.between(5, 14) * leaseMs,
    cluster: {
      isSynchronous: draw.happens(0.35),
      lagMs: draw.happens(0.5) ? draw.between(0, 30) : draw.between(0, leaseMs),
      zombieMs: maybe(0.6, 0.2 * leaseMs, 4 * leaseMs),
    },
    kit: draw.happens(0.7) ? "ledger" : draw.happens(0.85) ? "guard" : "http",
    queues: draw.happens(0.7) ? 1 : 2,
    limit: draw.happens(0.8) ? undefined : drawLimit(draw, leaseMs),
    hasSteps: draw.happens(0.25),
    onUnknown: draw.of(["run", "throw", "ask"]),
    completing: maybe(0.3, 0.3, 1),
    waiting: maybe(0.25, 0.2, 0.7),
    keyed: maybe(0.2, 0.2, 0.7),
    batches: maybe(0.2, 0.3, 0.8),
    delayed: maybe(0.3, 0.1, 0.5),
    everyMs: draw.happens(0.85) ? undefined : draw.of([1_000, 1_500, 2_000, 3_000]),
  };
}

function drawLimit(draw: Chance, leaseMs: number): QueueLimit {
  const rate = { count: draw.whole(1, 4), perMs: Math.round(leaseMs * draw.between(0.5, 2)) };
  const concurrency = draw.whole(1, 3);
  const which = draw.whole(0, 2);
  return { concurrency: which === 1 ? null : concurrency, rate: which === 0 ? null : rate };
}

export interface Input {
  readonly resource: string | null;
  readonly key?: string | undefined;
}

/** The definition as one process has it: its handler draws what it does from that process's chance. */
export function workOf(
  terms: Terms,
  chance: Chance,
  effects: Effects,
  isHealed: () => boolean,
): JobDefinition<Input, unknown> {
  return defineJob({
    name: "work",
    leaseMs: terms.leaseMs,
    maxAttempts: terms.maxAttempts,
    ...(terms.maxRunMs === undefined ? {} : { maxRunMs: terms.maxRunMs }),
    backoff: terms.backoff,
    resource: (input: Input) => input.resource ?? undefined,
    async run(context: RunContext<Input>) {
      const { signal, lease, job } = context;
      effects.begins(lease);
      for (let n = 0; n < terms.effects; n++) {
        await effects.pause(chance.between(0, terms.longestMs / terms.effects));
        if (!isHealed() && chance.happens(terms.hanging)) await effects.hang();
        if (chance.happens(0.7)) signal.throwIfAborted();
        if (chance.happens(0.1)) context.progress({ n });
        if (terms.hasSteps) await stepOf(context, `effect ${n}`);
        else await effects.write(lease, `effect ${n}`);
        if (!isHealed() && chance.happens(terms.failing)) {
          throw chance.happens(0.2) ? new FinalError("no use") : new Error("a fault");
        }
      }
      if (chance.happens(terms.completing)) await job.complete((tx) => tx.query("put", [job.id, 1]));
      return terms.effects;
    },
  });

  function stepOf({ step, lease, job }: RunContext<Input>, name: string): Promise<string> {
    const make = (): Promise<string> => {
      effects.stepBegins(lease, job.id, name);
      return effects.write(lease, name);
    };
    // The destination knows a repeat, so asking it is doing it again.
    if (terms.onUnknown === "ask") return step(name, { onUnknown: (_begun, run) => run() }, make);
    return step(name, { onUnknown: terms.onUnknown }, make);
  }
}
