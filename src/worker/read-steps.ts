import type { StepRecord } from "../protocol/step.ts";
import type { Run } from "./run.ts";
import { isAskedAgain } from "./while-trusted.ts";

const AGAIN_MS = 20;

/** What earlier attempts left, asked for until there is an answer (C11), for as long as the lease is trusted. */
export async function readSteps(run: Run): Promise<readonly StepRecord[]> {
  const { store, world, callTimeoutMs: timeoutMs } = run.host;
  const { jobId, run: number } = run.claimed.job;
  for (;;) {
    try {
      return await store.steps(jobId, number, { timeoutMs });
    } catch (error) {
      if (!isAskedAgain(run, error)) throw error;
      await world.timers.sleep(AGAIN_MS * (1 + world.random.next()));
    }
  }
}
