import { type Generation, generation } from "../../protocol/identity.ts";
import type { Sql } from "./statements.ts";

/** Store time (T1) and the floor, as one statement saw them. */
export interface Moment {
  readonly nowMs: number;
  readonly epoch: number;
  /** Leases at or below it were granted before the last loss of writes. */
  readonly epochStart: Generation;
  readonly floor: Generation;
  /** The server is not the one that gave out the generations before: its system id or timeline says so. */
  readonly historyChanged: boolean;
}

/** Generations given out before may not be known here, so none may be raised before the floor is (section 1, *Floor*). */
export class HistoryChanged extends Error {}

/** To be read after the rows that it is held against were locked: what was waited for may have taken long. */
export async function readMoment(sql: Sql): Promise<Moment> {
  const [row] = await sql.rows("moment");
  if (row === undefined) throw new Error("The table store has no row");
  return {
    nowMs: Number(row["now"]),
    epoch: Number(row["epoch"]),
    epochStart: generation(Number(row["epoch_start"])),
    floor: generation(Number(row["floor"])),
    historyChanged: row["history_changed"] === true,
  };
}

/**
 * The same for whoever is about to raise a generation.
 *
 * @throws {HistoryChanged}
 */
export async function readMomentToRaise(sql: Sql): Promise<Moment> {
  const moment = await readMoment(sql);
  if (moment.historyChanged) throw new HistoryChanged();
  return moment;
}
