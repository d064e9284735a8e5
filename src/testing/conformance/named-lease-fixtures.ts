import assert from "node:assert/strict";
import type { JobId, NamedFence, Owner } from "../../protocol/identity.ts";
import type { AcquireAnswer } from "../../stores/store.ts";
import { LAPSE_MS, LEASE_MS, newOwner, OPTIONS } from "./fixtures.ts";
import type { TestWorld } from "./harness.ts";

export const NAME = "nightly-report";
export const ACCOUNT = "account:42";

export function acquire(
  { store }: Pick<TestWorld, "store">,
  owner: Owner = newOwner(),
  name: string = NAME,
): Promise<AcquireAnswer> {
  return store.acquire({ name, owner, leaseMs: LEASE_MS }, OPTIONS);
}

/** Acquires a lease that must be free. */
export async function held(world: Pick<TestWorld, "store">, name: string = NAME): Promise<NamedFence> {
  const owner = newOwner();
  const answer = await acquire(world, owner, name);
  assert.ok(answer.outcome === "applied", `the lease is free, not ${answer.outcome}`);
  return { name, owner, generation: answer.token.generation };
}

export async function lapseBoth(world: TestWorld, id: JobId): Promise<void> {
  await world.lapse(id, LAPSE_MS);
  await world.lapse(ACCOUNT, LAPSE_MS);
}
