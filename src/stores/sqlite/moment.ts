import { SchemaVersionError } from "../../errors.ts";
import { epochStart, floorOf } from "../../protocol/floor.ts";
import { type Generation, generation } from "../../protocol/identity.ts";
import { NEWEST } from "./migrate.ts";
import type { Statements } from "./statements.ts";

/** Store time (T1) and the floor, as one transaction sees them. */
export interface Moment {
  readonly nowMs: number;
  readonly epoch: number;
  /** Leases at or below it were granted before the last loss of writes. */
  readonly epochStart: Generation;
  readonly floor: Generation;
}

interface Row {
  readonly now: number;
  readonly epoch: number;
  readonly deleted_generation: number;
  readonly schema_version: number;
  readonly works_with: number;
}

/**
 * Read after the write lock was had, once per transaction.
 *
 * @throws {SchemaVersionError} a newer leasehold has migrated the file meanwhile, and shut this version out
 */
export function readMoment(statements: Statements): Moment {
  const row = statements.get<Row>("moment");
  if (row === undefined) throw new Error("leasehold_store has no row");
  if (row.works_with > NEWEST) throw new SchemaVersionError(row.schema_version, NEWEST, "The store");
  const state = { epoch: row.epoch, deletedGeneration: generation(row.deleted_generation) };
  return { nowMs: row.now, epoch: row.epoch, epochStart: epochStart(state), floor: floorOf(state) };
}
