import { defineJob, type JobDefinition } from "../../src/client/define-job.ts";
import type { RunContext } from "../../src/client/handler.ts";
import { FinalError } from "../../src/errors.ts";
import type { Chance } from "./chance.ts";
import type { Effects } from "./effects.ts";

/** What every run of a simulation draws once: sizes and lengths, so that no constant stands for all. */
export interface Terms {
  readonly processes: number;
  readonly jobs: number;
  readonly leaseMs: number;
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly resources: number;
  readonly steps: number;
  readonly longestMs: number;
  readonly pollMs: number;
  readonly callTimeoutMs: number;
  readonly failing: number;
  readonly hanging: number;
  readonly safetyMs: number;
}

export function drawTerms(chance: Chance): Terms {
  const leaseMs = Math.round(250 * 8 ** chance.next());
  return {
    processes: chance.whole(2, 4),
    jobs: chance.whole(2, 9),
    leaseMs,
    concurrency: chance.whole(1, 3),
    maxAttempts: chance.whole(1, 8),
    resources: chance.happens(0.5) ? 0 : chance.whole(1, 2),
    steps: chance.whole(1, 3),
    longestMs: leaseMs * chance.between(0.1, 1.5),
    pollMs: chance.whole(20, 400),
    callTimeoutMs: chance.whole(50, 1_500),
    failing: chance.happens(0.5) ? 0 : chance.between(0.05, 0.4),
    hanging: chance.happens(0.7) ? 0 : chance.between(0.02, 0.1),
    safetyMs: chance.between(6, 16) * leaseMs,
  };
}

/** The definition as one process has it: its handler draws what it does from that process's chance. */
export function workOf(
  terms: Terms,
  chance: Chance,
  effects: Effects,
  isHealed: () => boolean,
): JobDefinition {
  return defineJob({
    name: "work",
    leaseMs: terms.leaseMs,
    maxAttempts: terms.maxAttempts,
    backoff: { baseMs: 20, capMs: 400 },
    resource: (input: unknown) => (input as { readonly resource: string | null }).resource ?? undefined,
    async run(context: RunContext<unknown>) {
      const { signal } = context;
      for (let step = 0; step < terms.steps; step++) {
        await effects.pause(chance.between(0, terms.longestMs / terms.steps));
        if (!isHealed() && chance.happens(terms.hanging)) await effects.hang();
        if (chance.happens(0.7)) signal.throwIfAborted();
        if (chance.happens(0.1)) await context.progress({ step });
        await effects.write(context.lease, `step ${step}`);
        if (!isHealed() && chance.happens(terms.failing)) {
          throw chance.happens(0.2) ? new FinalError("no use") : new Error("a fault");
        }
      }
      return terms.steps;
    },
  }) as JobDefinition;
}
