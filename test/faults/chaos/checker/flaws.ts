/** What is wrong with a record as such: then the harness has failed, and nothing is known of the product. */

import type { RunRecord } from "../record.ts";

export function flawsOf(record: RunRecord): string[] {
  const flaws: string[] = [];
  const { history, audit, decisions, healedAtMs, endedAtMs } = record;
  if (history.length === 0) flaws.push("the history is empty");
  if (audit.length === 0) flaws.push("the audit is empty");
  if (healedAtMs > endedAtMs) flaws.push("the run was over before its last fault had ended");
  for (let n = 1; n < audit.length; n++) {
    if (audit[n]!.seq > audit[n - 1]!.seq) continue;
    flaws.push(`the audit is out of order at ${audit[n]!.seq}`);
    break;
  }
  const invoked = new Set<string>();
  for (const { process, incarnation, kind, op, request } of history) {
    if (kind === "invoke") invoked.add(`${process} ${incarnation} ${op} ${request}`);
  }
  const orphan = history.find(
    ({ process, incarnation, kind, op, request }) =>
      (kind === "ok" || kind === "fail" || kind === "info") &&
      !invoked.has(`${process} ${incarnation} ${op} ${request}`),
  );
  if (orphan !== undefined)
    flaws.push(`${orphan.process} was answered ${orphan.op} ${orphan.request}, which it had not asked for`);
  if (decisions.some(({ key }) => key === "")) flaws.push("a destination's decision has no key");
  return flaws;
}
