/** What earlier transactions have left to do for jobs that wait for others, and for batches. */

import { type Departure, type OnFailure, onDeparture } from "../../protocol/blocking.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { Call, Connections } from "./connections.ts";
import { type Departed, depart } from "./departures.ts";
import type { Sql } from "./statements.ts";

/** How many blocked jobs one look goes through, in search of such as wait for nobody. */
const BLOCKED_A_LOOK = 100;
/** How many departed jobs one transaction goes on with. */
const DEPARTED_AT_ONCE = 100;
/** How many lines of batches it folds, at least; each batch's with all of its lines. */
const LINES_AT_ONCE = 200;

interface Found {
  readonly id: JobId | null;
  readonly on_failure: OnFailure | null;
  readonly seq: number | null;
  readonly unfreed: boolean;
  readonly lines: boolean;
}

export class OrderSweep {
  /** The blocked job at which the last look stopped. */
  #after = 0;

  /** @returns whether something may have become claimable */
  async run(connections: Connections, call: Call): Promise<boolean> {
    const rows = await connections.on(call).rows<Found>("look at order", [this.#after, BLOCKED_A_LOOK]);
    this.#after = rows.find(({ seq }) => seq !== null)?.seq ?? 0;
    const stranded = await strandedAmong(connections.on(call), rows);
    const { unfreed = false, lines = false } = rows.find(({ id, seq }) => id === null && seq === null) ?? {};
    if (lines) await connections.transaction(call, foldBatches);
    if (unfreed || stranded.length > 0) {
      await connections.transaction(call, async (sql) => {
        const left = await sql.rows<Departed>("take unfreed", [DEPARTED_AT_ONCE]);
        const known = new Set(left.map(({ id }) => id));
        await depart(sql, [...left, ...stranded.filter(({ id }) => !known.has(id))]);
      });
    }
    return lines || unfreed || stranded.length > 0;
  }
}

/**
 * What blocked jobs wait for although its end frees or fails them. Each end does that itself, so that this finds nothing
 * but what one has left undone.
 */
async function strandedAmong(sql: Sql, rows: readonly Found[]): Promise<Departed[]> {
  const ids = [...new Set(rows.flatMap(({ id }) => (id === null ? [] : [id])))];
  if (ids.length === 0) return [];
  const ended = await sql.rows<{ job_id: JobId; state: Departure }>("states of jobs", [JSON.stringify(ids)]);
  const how = new Map(ended.map(({ job_id, state }) => [job_id, state]));
  const stranded = new Map<JobId, Departed>();
  for (const { id, on_failure } of rows) {
    if (id === null || on_failure === null) continue;
    const departed = { id, how: how.get(id) ?? ("deleted" as const) };
    if (isLive(departed.how) || onDeparture(departed.how, on_failure) === "wait") continue;
    stranded.set(id, departed);
  }
  return [...stranded.values()];
}

/** A retry may have brought it back between the two looks. */
function isLive(state: string): boolean {
  return state === "ready" || state === "leased";
}

async function foldBatches(sql: Sql): Promise<void> {
  const locked = await sql.rows<{ id: number }>("lock counted batches", [LINES_AT_ONCE]);
  if (locked.length === 0) {
    await sql.rows("drop lines of no batch");
    return;
  }
  const folded = await sql.rows<{ then_id: JobId | null; ended: boolean }>("fold batches", [
    locked.map(({ id }) => id),
  ]);
  const due = folded.flatMap(({ then_id, ended }) => (ended && then_id !== null ? [then_id] : []));
  if (due.length > 0) await sql.rows("let run", [due]);
}
