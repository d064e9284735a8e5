import type { NewJob } from "../../protocol/enqueue.ts";
import { inLine } from "../resource-line.ts";
import type { Sql } from "./statements.ts";

const NONE: ReadonlySet<NewJob> = new Set();

/**
 * Those that wait for their resource from the start: it is held, or stands in the line already. A job with a time of its own
 * is not among them, since the server's clock says whether it is due.
 */
export async function busyResources(sql: Sql, jobs: readonly NewJob[]): Promise<ReadonlySet<NewJob>> {
  if (jobs.every(({ resource }) => resource === null)) return NONE;
  const due = jobs.filter((job) => "delayMs" in job.due && job.due.delayMs <= 0);
  const { leaders, followers } = inLine(due);
  if (leaders.length === 0) return NONE;
  const asked = leaders.map(({ resource, queue, priority }, n) => ({ n, resource, queue, priority }));
  const busy = await sql.rows<{ n: number }>("busy resources", [JSON.stringify(asked)]);
  return new Set([...followers, ...busy.map(({ n }) => leaders[n] as NewJob)]);
}
