import { defineJob } from "leasehold";
import { expect } from "vitest";
import type { FaultWorld } from "./world.ts";

/** Longer than a test may take: what such a worker finds, it did not find by polling. */
export const NEVER_POLLS_MS = 600_000;

/** Its result is its generation. */
export const quick = defineJob({ name: "quick", run: ({ lease }) => lease.token.generation });

/** A job from elsewhere is found, and runs as if nothing had been. */
export async function stillWakes(world: FaultWorld): Promise<void> {
  const { jobId } = await world.bystander.enqueue(quick);
  expect(await world.ended(jobId)).toMatchObject({ result: 1, attempt: 1 });
}
