import { epochStart, floorOf } from "../../protocol/floor.ts";
import { type Generation, generation } from "../../protocol/identity.ts";
import type { Statements } from "./statements.ts";

/** Store time (T1) and the floor, as one transaction sees them. */
export interface Moment {
  readonly nowMs: number;
  readonly epoch: number;
  /** Leases at or below it were granted before the last loss of writes. */
  readonly epochStart: Generation;
  readonly floor: Generation;
}

/** Read after the write lock was had, once per transaction. */
export function readMoment(statements: Statements): Moment {
  const row = statements.get<{ now: number; epoch: number; deleted_generation: number }>("moment");
  if (row === undefined) throw new Error("leasehold_store has no row");
  const state = { epoch: row.epoch, deletedGeneration: generation(row.deleted_generation) };
  return { nowMs: row.now, epoch: row.epoch, epochStart: epochStart(state), floor: floorOf(state) };
}
