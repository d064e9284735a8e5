import { nextEpoch } from "../../protocol/floor.ts";
import { readMoment } from "./moment.ts";
import type { Sql } from "./statements.ts";

/**
 * Section 1, *Floor*: after a restore from a copy, or when a claim met another server. With the jobs locked against all
 * other writers: every claim under way has ended, and whoever waits reads the new epoch.
 */
export async function raiseFloor(
  sql: Sql,
  when: "always" | "if history changed",
): Promise<{ readonly epoch: number }> {
  await sql.rows("exclude other users of jobs");
  const moment = await readMoment(sql);
  if (when === "if history changed" && !moment.historyChanged) return { epoch: moment.epoch };
  const epoch = nextEpoch(moment.epoch, moment.nowMs);
  await sql.rows("raise epoch", [epoch]);
  return { epoch };
}
