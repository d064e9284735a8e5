import type { Fence, FencingToken, Generation, Owner } from "../../src/protocol/identity.ts";
import type { Operation, Transition } from "../../src/protocol/invariants.ts";
import { isEnded, type JobRecord, tokenOf } from "../../src/protocol/job.ts";
import type { Settlement } from "../../src/protocol/settle.ts";
import type { MemoryState } from "../../src/stores/memory/state.ts";

/** What a call on the store changed, each row for itself. */
export function transitionsOf(
  method: string,
  args: readonly unknown[],
  before: MemoryState,
  after: MemoryState,
  nowMs: number,
): Transition[] {
  const transitions: Transition[] = [];
  for (const [id, is] of after.jobs) {
    const was = before.jobs.get(id);
    if (was === is) continue;
    const operation = operationOf(method, args, was, is);
    const fence = fenceOf(method, args, was);
    const lease = is.resource === null ? undefined : before.leases.get(is.resource);
    transitions.push({
      operation,
      before: was,
      after: is,
      nowMs,
      floor: before.floor,
      ...(fence === undefined ? {} : { fence }),
      lease,
      ...(operation === "heal" ? { mark: args[1] as Generation } : {}),
    });
  }
  for (const [id, was] of before.jobs) {
    if (!after.jobs.has(id)) {
      transitions.push({ operation: "delete", before: was, after: undefined, nowMs, floor: before.floor });
    }
  }
  return transitions;
}

const BY_METHOD: Readonly<Record<string, Operation>> = {
  enqueue: "enqueue",
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
  if (method === "claim") {
    const { owner } = args[0] as { readonly owner: Owner };
    if (is.state === "leased" && is.owner === owner && is.generation !== was?.generation) return "claim";
    return isEnded(is) ? "expire" : "rebase";
  }
  if (method === "settle") {
    const settlements = (args[0] as readonly Settlement[]).filter(({ fence }) => fence.jobId === is.jobId);
    const applied = settlements.find(({ fence }) => fence.generation === was?.generation) ?? settlements[0];
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

/** The tokens that a change grants: of the job's own line, and of its resource's when the run holds one. */
export function grantsOf({ operation, after }: Transition): FencingToken[] {
  if (operation !== "claim" || after?.owner == null) return [];
  const job = after as JobRecord & { readonly owner: Owner };
  return [tokenOf(job)];
}
