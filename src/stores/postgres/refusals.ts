/** C9: what the writing statement did not apply is explained by a later one, with a new snapshot. */

import { UnknownOutcomeError } from "../../errors.ts";
import { type Fence, jobLine, leaseLine, type NamedFence } from "../../protocol/identity.ts";
import type { JobRecord, SettleOperation } from "../../protocol/job.ts";
import {
  isCurrentHolder,
  type NamedLease,
  type NamedLeaseRefusal,
  namedRefusal,
} from "../../protocol/named-lease.ts";
import { type Busy, isCurrent, type Refusal, refusal } from "../../protocol/outcome.ts";
import { noteRefusals, type RefusalNote } from "./journal.ts";
import { type Moment, readMoment } from "./moment.ts";
import { jobFromRow, leaseFromRow } from "./rows.ts";
import type { Sql } from "./statements.ts";

/** A refused fence, and the settling for which `already` may be the answer. */
export interface Refused {
  readonly fence: Fence;
  readonly operation: string;
  readonly settling?: SettleOperation;
}

const BUSY: Busy = { outcome: "busy" };

/**
 * Explains each. One that is current after all was skipped because somebody else had its row locked: `busy`.
 *
 * @throws {UnknownOutcomeError} they could not be read, and others of the same call may have been applied
 */
export async function explain(
  sql: Sql,
  refused: readonly Refused[],
  call: string,
): Promise<(Refusal | Busy)[]> {
  if (refused.length === 0) return [];
  const [jobs, leases, moment] = await presentState(sql, refused).catch((error: unknown) => {
    throw new UnknownOutcomeError(call, error);
  });
  const notes: RefusalNote[] = [];
  const answers = refused.map(({ fence, operation, settling }) => {
    const job = jobs.get(fence.jobId);
    if (job !== undefined && isCurrent(job, fence, moment.epochStart, leases.get(job.resource ?? "")))
      return BUSY;
    const answer = refusal(job, fence, settling, moment.epochStart);
    if (answer.outcome === "stale") notes.push(noteOf(fence, operation, answer.generation));
    return answer;
  });
  await noteRefusals(sql, notes);
  return answers;
}

function noteOf(fence: Fence, operation: string, current: RefusalNote["current"]): RefusalNote {
  const { owner, generation } = fence;
  return { line: jobLine(fence.jobId), owner, generation, current, operation };
}

async function presentState(
  sql: Sql,
  refused: readonly Refused[],
): Promise<readonly [ReadonlyMap<string, JobRecord>, ReadonlyMap<string, NamedLease>, Moment]> {
  const ids = [...new Set(refused.map(({ fence }) => fence.jobId))];
  const jobs = (await sql.rows("find jobs", [ids])).map(jobFromRow);
  const names = [...new Set(jobs.flatMap(({ resource }) => (resource === null ? [] : [resource])))];
  const leases = names.length === 0 ? [] : (await sql.rows("find leases", [names])).map(leaseFromRow);
  return [
    new Map(jobs.map((job) => [job.jobId, job])),
    new Map(leases.map((lease) => [lease.name, lease])),
    await readMoment(sql),
  ];
}

/** The same for named leases. */
export async function explainNamed(
  sql: Sql,
  refused: readonly NamedFence[],
  operation: "renew" | "release" | "heal",
): Promise<(NamedLeaseRefusal | Busy)[]> {
  if (refused.length === 0) return [];
  const [rows, moment] = await Promise.all([
    sql.rows("find leases", [[...new Set(refused.map(({ name }) => name))]]),
    readMoment(sql),
  ]).catch((error: unknown) => {
    throw new UnknownOutcomeError(operation, error);
  });
  const leases = new Map(rows.map(leaseFromRow).map((lease) => [lease.name, lease]));
  const notes: RefusalNote[] = [];
  const answers = refused.map((fence) => {
    const lease = leases.get(fence.name);
    if (isCurrentHolder(lease, fence, moment.epochStart)) return BUSY;
    const answer = namedRefusal(lease, fence, operation);
    if (answer.outcome === "stale") {
      const { owner, generation } = fence;
      notes.push({ line: leaseLine(fence.name), owner, generation, current: answer.generation, operation });
    }
    return answer;
  });
  await noteRefusals(sql, notes);
  return answers;
}
