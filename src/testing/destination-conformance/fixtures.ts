/** Lines, tokens, and the refusals that tests look for. */

import assert from "node:assert/strict";
import { systemWorld } from "../../clock/system.ts";
import {
  type FencingToken,
  generation,
  type JobId,
  jobLine,
  type Line,
  owner,
} from "../../protocol/identity.ts";
import type { DestinationWorld } from "./harness.ts";

const { ids } = systemWorld();

/** A job's line, and the scope of its first run. */
export interface TestJob {
  readonly id: JobId;
  readonly line: Line;
  readonly scope: string;
}

export function newJob(): TestJob {
  const id = ids.jobId();
  return { id, line: jobLine(id), scope: `job:${id}/1` };
}

export function token(line: Line, number: number, name = `owner of ${number}`): FencingToken {
  return { line, generation: generation(number), owner: owner(name) };
}

/** What a token's mark looks like once it was admitted. */
export function markOf({ generation, owner }: FencingToken): Pick<FencingToken, "generation" | "owner"> {
  return { generation, owner };
}

export async function assertMark(world: DestinationWorld, expected: FencingToken): Promise<void> {
  const mark = await world.writer.markOf(expected.line);
  assert.deepEqual(mark && { generation: mark.generation, owner: mark.owner }, markOf(expected));
}

export async function assertEffects(world: DestinationWorld, line: Line, expected: string[]): Promise<void> {
  assert.deepEqual(await world.effects(line), expected);
}

/** Classes may come from another build of the package than this one; codes are the same in all. */
export function hasCode(error: unknown, code: string): boolean {
  return (error as { code?: unknown } | null)?.code === code;
}

/** What a refusal tells, as far as a test may look at it. */
interface Told {
  readonly message: string;
  readonly token?: FencingToken;
  readonly mark?: Pick<FencingToken, "generation" | "owner">;
  readonly line?: Line;
  readonly key?: string;
  readonly retryInMs?: number;
}

/** Rejects with the error of this code, which is returned. */
export async function refusal(call: Promise<unknown>, code: string): Promise<Told> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  assert.ok(outcome !== undefined, `was admitted, and should have been refused with ${code}`);
  if (!hasCode(outcome.error, code)) throw outcome.error;
  return outcome.error as Told;
}

export async function assertStale(
  call: Promise<unknown>,
  shown: FencingToken,
  mark: FencingToken,
): Promise<void> {
  const told = await refusal(call, "LH_STALE_TOKEN");
  assert.deepEqual(told.token && { line: told.token.line, ...markOf(told.token) }, { ...shown });
  assert.deepEqual(told.mark && { generation: told.mark.generation, owner: told.mark.owner }, markOf(mark));
}

/** An optional part of the world; a missing one fails the test that asks for it. */
export function part<Name extends keyof DestinationWorld>(
  world: DestinationWorld,
  name: Name,
): NonNullable<DestinationWorld[Name]> {
  const found = world[name];
  assert.ok(found, `the harness has no ${name}`);
  return found;
}
