/** Answers that are not true, and what was promised and not kept. */

import { type Corruption, drop, end, event, failover, isLate, renewal, takenOver } from "./falsified.ts";

export const CALLERS: readonly Corruption[] = [
  {
    breaks: "I12",
    what: "an enqueue that was acknowledged and is not there",
    falsify: (record) => {
      const { job } = event(record, "enqueue", "ok");
      record.audit = record.audit.filter((entry) => entry.job !== job);
    },
  },
  {
    breaks: "I12",
    what: "an end that was acknowledged and is not there",
    falsify: (record) => {
      const { job } = event(record, "settle", "ok");
      record.audit = record.audit.filter(
        (entry) => entry.job !== job || (entry.ended === null && entry.is !== null),
      );
    },
  },
  {
    breaks: "I12",
    what: "a loss by a synchronous failover",
    falsify: (record) => {
      const { job, atMs } = event(record, "enqueue", "ok");
      record.audit = record.audit.filter((entry) => entry.job !== job);
      const fault = { process: "nemesis", incarnation: 1, op: "failover", target: "store" };
      record.history.push({
        ...fault,
        kind: "invoke",
        atMs: atMs - 5,
        detail: { mode: "sync", lostAfterMs: atMs - 5 },
      });
      record.history.push({ ...fault, kind: "ok", atMs: atMs + 5 });
    },
  },
  {
    breaks: "I12",
    what: "an enqueue that went during a failover, and that the old primary has not either",
    falsify: (record) => {
      const { job, atMs } = event(record, "enqueue", "ok");
      record.audit = record.audit.filter((entry) => entry.job !== job);
      record.lost = [];
      failover(record, atMs - 5, atMs + 5);
    },
  },
  {
    breaks: "I12",
    what: "a loss from before what the standby had",
    falsify: (record) => {
      const [lost] = takenOver(record);
      record.lost = [structuredClone(lost!)];
      failover(record, record.healedAtMs - 5, record.healedAtMs);
    },
  },
  {
    breaks: "I5",
    what: "an end by a stranger on the old primary",
    falsify: (record) => {
      const entries = structuredClone(takenOver(record));
      end(entries)["settled_owner"] = "one 1";
      record.lost = entries.filter(({ ended, is }) => ended !== null || is === null);
    },
  },
  {
    breaks: "I13",
    what: "a refusal told as applied",
    falsify: (record) => {
      Object.assign(event(record, "settle", "fail", isLate), { kind: "ok", outcome: "applied" });
    },
  },
  {
    breaks: "I13",
    what: "a completion told as refused",
    falsify: (record) => {
      Object.assign(event(record, "settle", "ok"), { kind: "fail", outcome: "stale" });
    },
  },
  {
    breaks: "I13",
    what: "a renewal that was told and never made",
    falsify: (record) => {
      Object.assign(event(record, "renew", "fail", isLate), { kind: "ok", outcome: "applied" });
    },
  },
  {
    breaks: "I13",
    what: "a completion told twice",
    falsify: (record) => {
      Object.assign(
        event(record, "settle", "ok", ({ outcome }) => outcome === "already"),
        { outcome: "applied" },
      );
      Object.assign(event(record, "settle", "info"), { kind: "ok", outcome: "applied" });
    },
  },
  {
    breaks: "I13",
    what: "a row that was written after its answer",
    falsify: (record) => {
      renewal(takenOver(record)).entry.storeMs += 2_000;
    },
  },
  {
    breaks: "I13",
    what: "a claim that nobody was told of",
    falsify: (record) => {
      const { request } = event(record, "claim", "ok", ({ process }) => process === "worker 2");
      Object.assign(
        event(record, "claim", "ok", (one) => one.request === request),
        { job: undefined },
      );
    },
  },
  {
    breaks: "I13",
    what: "an end that nobody asked for",
    falsify: (record) => {
      const { request, process } = event(record, "settle", "ok");
      drop(record, (one) => one.op === "settle" && one.request === request && one.process === process);
    },
  },
  {
    breaks: "I13",
    what: "an effect that was told and never made",
    falsify: (record) => {
      const { key, generation } = event(record, "write", "ok", ({ destination }) => destination === "http");
      record.decisions = record.decisions.filter((one) => one.key !== key || one.generation !== generation);
    },
  },
  {
    breaks: "I18",
    what: "a slot that was left out",
    falsify: (record) => {
      const [schedule] = record.schedules!;
      record.schedules = [{ ...schedule!, toMs: schedule!.toMs + 1_000 }];
    },
  },
  {
    breaks: "I18",
    what: "a job of no slot",
    falsify: (record) => {
      const [schedule] = record.schedules!;
      record.schedules = [{ ...schedule!, toMs: schedule!.toMs - 1_000 }];
    },
  },
  {
    breaks: "I19",
    what: "a cancelled job that was completed",
    falsify: (record) => {
      const { job } = event(record, "cancel", "ok", ({ detail }) => detail?.["state"] === "cancelled");
      Object.assign(end(record.audit.filter((entry) => entry.job === job)), { state: "completed" });
    },
  },
  {
    breaks: "I19",
    what: "a request to cancel that a failure forgot",
    falsify: (record) => {
      const { job } = event(record, "cancel", "ok", ({ detail }) => detail?.["state"] === "leased");
      const ended = record.audit.find((entry) => entry.job === job && entry.ended !== null)!;
      const left = record.audit.find(
        (entry) => entry.job === job && entry.was !== null && entry.is === null,
      )!;
      left.is = {
        ...ended.ended,
        ready: true,
        owner: null,
        lease_until: null,
        run_at: null,
        state: null,
        cancel_requested: false,
      };
      record.audit = record.audit.filter((entry) => entry !== ended);
    },
  },
];
