/** A step's record as the columns of a row: the same in all SQL stores. */

import { generation, type Owner } from "../protocol/identity.ts";
import type { StepRecord, StepState } from "../protocol/step.ts";

export function stepFromRow(row: Readonly<Record<string, unknown>>): StepRecord {
  return {
    step: row["step"] as string,
    run: row["run"] as number,
    state: row["state"] as StepState,
    owner: row["owner"] as Owner | null,
    generation: generation(row["generation"] as number),
    attempt: row["attempt"] as number,
    begunAtMs: row["begun_at"] as number | null,
    endedAtMs: row["ended_at"] as number | null,
    result: row["result"] as string | null,
    error: row["error"] as string | null,
  };
}
