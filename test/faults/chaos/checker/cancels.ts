/** I19, the half that the audit alone does not tell: what a caller was told of its cancel has come true. */

import { isEnded } from "../../../../src/protocol/job.ts";
import { answerOf } from "./calls.ts";
import type { Evidence } from "./evidence.ts";
import { mayBeLost } from "./losses.ts";
import type { Broken } from "./verdict.ts";

export function cancelsAgree(evidence: Evidence): Broken[] {
  const broken: Broken[] = [];
  for (const call of evidence.callsByOp.get("cancel") ?? []) {
    const { told, reply } = answerOf(call);
    const { job } = call.invoke;
    if (told !== "yes" || reply === undefined || job === undefined) continue;
    const own = evidence.changesByJob.get(job) ?? [];
    const cancel = own.findIndex(({ operation }) => operation === "cancel");
    if (own.slice(cancel + 1).some(({ operation }) => operation === "retry")) continue;
    const final = evidence.finals.get(job);
    if (final === undefined || mayBeLost(evidence, call, reply)) continue;
    const isImmediate = reply.detail?.["state"] === "cancelled";
    const agrees = isImmediate ? final.state === "cancelled" : isEnded(final);
    if (agrees) continue;
    const said = isImmediate ? "cancelled" : "to be cancelled";
    broken.push({
      what: `I19: job ${job} was said to be ${said} and is ${final.state}`,
      job,
      atMs: reply.atMs,
    });
  }
  return broken;
}
