import type { Fence, FencingToken, Generation, Owner } from "../../src/protocol/identity.ts";
import type { Operation, Transition } from "../../src/protocol/invariants.ts";
import { isEnded, type JobRecord, tokenOf } from "../../src/protocol/job.ts";
import type { Settlement } from "../../src/protocol/settle.ts";
import type { Primary } from "./primary.ts";

/** What a call has changed since the last look, each row for itself; the look is taken with it. */
export function transitionsOf(
  primary: Primary,
  method: string,
  args: readonly unknown[],
  nowMs: number,
): { readonly transitions: Transition[]; readonly hasChanged: boolean } {
  const rows = primary.memory.peek();
  const { floor } = rows;
  const transitions: Transition[] = [];
  for (const [id, is] of rows.jobs) {
    const was = primary.jobs.get(id);
    if (was === is) continue;
    primary.jobs.set(id, is);
    const operation = operationOf(method, args, was, is);
    const fence = fenceOf(method, args, was);
    const lease = is.resource === null ? undefined : primary.leases.get(is.resource);
    let before = was;
    if (operation === "claim" && was !== undefined && was.blockedBy > is.blockedBy) {
      // The same claim has ended whom it waited for.
      before = { ...was, blockedBy: is.blockedBy };
      transitions.push({ operation: "rebase", before: was, after: before, nowMs, floor });
    }
    transitions.push({
      operation,
      before,
      after: is,
      nowMs,
      floor,
      ...(fence === undefined ? {} : { fence }),
      lease,
      ...(operation === "heal" ? { mark: args[1] as Generation } : {}),
    });
  }
  let hasChanged = transitions.length > 0;
  for (const [name, lease] of rows.leases) {
    if (primary.leases.get(name) === lease) continue;
    primary.leases.set(name, lease);
    hasChanged = true;
  }
  for (const [id, before] of rows.jobs.size < primary.jobs.size ? primary.jobs : []) {
    if (rows.jobs.has(id)) continue;
    primary.jobs.delete(id);
    transitions.push({ operation: "delete", before, after: undefined, nowMs, floor });
  }
  return { transitions, hasChanged: hasChanged || !CHANGES_ROWS_ALONE.has(method) };
}

/** All others write something else as well, whatever becomes of rows. */
const CHANGES_ROWS_ALONE = new Set(["claim", "renew", "settle", "renewLeases", "release", "heal"]);

const BY_METHOD: Readonly<Record<string, Operation>> = {
  renew: "renew",
  write: "write",
  heal: "heal",
  cancel: "cancel",
  revoke: "revoke",
  retry: "retry",
  completeWith: "complete",
};

function operationOf(
  method: string,
  args: readonly unknown[],
  was: JobRecord | undefined,
  is: JobRecord,
): Operation {
  if (was === undefined) return "enqueue";
  if (method === "claim") {
    const { owner } = args[0] as { readonly owner: Owner };
    if (is.state === "leased" && is.owner === owner && is.generation !== was.generation) return "claim";
    return isEnded(is) && was.state === "leased" ? "expire" : "rebase";
  }
  // Somebody whom the job waited for has gone: it is freed, or fails with them.
  if (was.state === "ready" && is.blockedBy < was.blockedBy && is.generation === was.generation)
    return "rebase";
  if (was.state === "ready" && is.endReason === "dependency") return "rebase";
  if (method === "enqueue" || method === "schedules.fire") return "replace";
  const addressed = method === "completeWith" || method === "heal" ? (args[0] as Fence).jobId : is.jobId;
  if (addressed !== is.jobId) return "rebase";
  if (method === "settle") {
    const settlements = (args[0] as readonly Settlement[]).filter(({ fence }) => fence.jobId === is.jobId);
    const applied = settlements.find(({ fence }) => fence.generation === was.generation) ?? settlements[0];
    return applied?.operation ?? "rebase";
  }
  const operation = BY_METHOD[method];
  if (operation === undefined) throw new Error(`${method} changed job ${is.jobId}`);
  return operation;
}

/** Of several fences of one job in a batch (a worker that took its own lapsed job over has two), the one that fits. */
function fenceOf(method: string, args: readonly unknown[], was: JobRecord | undefined): Fence | undefined {
  if (method === "completeWith" || method === "heal") return args[0] as Fence;
  if (was === undefined || (method !== "settle" && method !== "renew")) return undefined;
  const fences =
    method === "renew"
      ? (args[0] as readonly Fence[])
      : (args[0] as readonly Settlement[]).map(({ fence }) => fence);
  const mine = fences.filter(({ jobId }) => jobId === was.jobId);
  return (
    mine.find(({ owner, generation }) => owner === was.owner && generation === was.generation) ?? mine[0]
  );
}

/** The token that a change grants: of the job's own line, or of its resource's when the run holds one. */
export function grantOf({ operation, after }: Transition): FencingToken | undefined {
  if (operation !== "claim" || after?.owner == null) return undefined;
  return tokenOf(after as JobRecord & { readonly owner: Owner });
}
