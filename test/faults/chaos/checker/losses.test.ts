/** What failovers lost is judged, and each of them by itself. */

import { describe, expect, it } from "vitest";
import type { AuditEntry, HistoryEvent, RunRecord } from "../record.ts";
import { failover } from "./corruptions/falsified.ts";
import { judge } from "./judge.ts";
import { soundRun } from "./sound-run.ts";

const sound = await soundRun();
const OTHER = "00000000-0000-7000-8000-000000000001";

/** The enqueue of a job and the claim that follows it, of a job that is in the record no more than that. */
function enqueueAndClaim(): [AuditEntry, AuditEntry] {
  const claim = sound.audit.find(({ was, is }) => was?.["owner"] === null && is?.["owner"] != null);
  const enqueue = sound.audit.find(({ job, was }) => job === claim?.job && was === null);
  if (claim === undefined || enqueue === undefined) throw new Error("no job was claimed");
  const lost = (entry: AuditEntry): AuditEntry =>
    JSON.parse(JSON.stringify(entry).replaceAll(entry.job, OTHER)) as AuditEntry;
  return [lost(enqueue), lost(claim)];
}

function brokenBy(record: RunRecord): string[] {
  return judge(record).findings.flatMap(({ invariant, status }) => (status === "broken" ? [invariant] : []));
}

/** Whatever was committed around that time was lost by a synchronous failover that began at `fromMs`. */
function losing(
  lost: readonly AuditEntry[],
  fromMs: number,
  toMs: number,
  told: HistoryEvent[] = [],
): RunRecord {
  const record = structuredClone(sound) as Parameters<typeof failover>[0];
  failover(record, fromMs, toMs);
  for (const event of record.history) {
    if (event.op === "failover") Object.assign(event, { detail: { ...event.detail, mode: "sync" } });
  }
  return { ...record, history: [...record.history, ...told], lost } as RunRecord;
}

describe("what a synchronous failover has lost", () => {
  const [enqueue, claim] = enqueueAndClaim();
  const atMs = enqueue.storeMs - (sound.wallAheadMs ?? 0);
  const beganMs = atMs + sound.leaseMs;

  it("may be what was written before it, in a transaction that was open still", () => {
    expect(brokenBy(losing([enqueue], beganMs, beganMs + 100))).not.toContain("I12");
  });

  it("is not what was written long before it", () => {
    const lateMs = atMs + 20 * sound.leaseMs;
    expect(brokenBy(losing([enqueue], lateMs, lateMs + 100))).toContain("I12");
  });

  it("is not what somebody was told of before it began", () => {
    const call = {
      process: "client",
      incarnation: 1,
      op: "enqueue",
      request: 9_999_999,
      job: OTHER,
    } as const;
    const told: HistoryEvent[] = [
      { ...call, kind: "invoke", atMs: atMs - 1 },
      { ...call, kind: "ok", atMs: atMs + 1 },
    ];
    expect(brokenBy(losing([enqueue], beganMs, beganMs + 100, told))).toContain("I12");
  });

  it("is a story of its own: an id that was lost with its claim may be enqueued and lost again", () => {
    const again = { ...enqueue, seq: claim.seq + 1, timeline: enqueue.timeline + 1 };
    const broken = brokenBy(losing([enqueue, claim, again], beganMs, beganMs + 100));
    expect(broken.filter((one) => one === "I2" || one === "I5")).toEqual([]);
    const onOne = brokenBy(
      losing([enqueue, claim, { ...again, timeline: enqueue.timeline }], beganMs, beganMs + 100),
    );
    expect(onOne).toContain("I2");
  });
});
