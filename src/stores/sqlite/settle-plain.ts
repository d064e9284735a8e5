/** C6 for what is settled most: completions by one owner, without results, of jobs whose end concerns nobody else. */

import type { Settlement } from "../../protocol/settle.ts";
import { EndCounts } from "./end-counts.ts";
import type { Moment } from "./moment.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";

interface Found {
  readonly seqs: string;
  readonly found: number;
  readonly first_queue: number;
  readonly last_queue: number;
}

/** Completes all of them; false, and nothing written, when one of them is not so plain, or its fence not current. */
export function completePlain(
  statements: Statements,
  settlements: readonly Settlement[],
  moment: Moment,
): boolean {
  const fences = plainFences(settlements);
  if (fences === undefined) return false;
  const row = statements.get<Found>("current and plain", {
    fences,
    owner: settlements[0]?.fence.owner,
    epoch_start: moment.epochStart,
  });
  if (row?.found !== settlements.length || row.first_queue !== row.last_queue) return false;
  statements.run("complete", { seqs: row.seqs, now: moment.nowMs });
  const counts = new EndCounts();
  counts.add(row.first_queue, PHASE.completed, row.found);
  counts.write(statements);
  return true;
}

/** A JSON object of generations by job id; undefined also when a job stands twice, whose second answer is `already`. */
function plainFences(settlements: readonly Settlement[]): string | undefined {
  const owner = settlements[0]?.fence.owner;
  if (new Set(settlements.map(({ fence }) => fence.jobId)).size < settlements.length) return undefined;
  let text = "";
  for (const settlement of settlements) {
    const { operation, fence } = settlement;
    if (operation !== "complete" || settlement.result !== null || fence.owner !== owner) return undefined;
    text += `${text === "" ? "{" : ","}"${fence.jobId}":${fence.generation}`;
  }
  return text === "" ? undefined : `${text}}`;
}
