/** Owners that trust their leases for too long, and leases that nobody takes over. */

import { LEASE_MS } from "../staged-run.ts";
import { type Corruption, claims, drop, event, lastTold } from "./falsified.ts";

export const OWNERS: readonly Corruption[] = [
  {
    breaks: "I10",
    what: "a deadline that is counted from the answer",
    falsify: (record) => {
      const { job } = event(record, "write", "ok", ({ outcome }) => outcome === "duplicate");
      const claim = record.history.findLast(
        ({ op, kind, job: of }) => op === "claim" && kind === "ok" && of === job,
      )!;
      event(record, "claim", "invoke", ({ request }) => request === claim.request).atMs -= LEASE_MS;
    },
  },
  {
    breaks: "I10",
    what: "an effect after the deadline of a process that nothing had stopped",
    falsify: (record) => {
      for (const one of record.history) if (one.op === "pause") one.target = "worker 2";
    },
  },
  {
    breaks: "I10",
    what: "an effect whose deadline nobody had looked at",
    falsify: (record) => {
      drop(record, ({ op }) => op === "check");
    },
  },
  {
    breaks: "I10",
    what: "an effect without a claim",
    falsify: (record) => {
      const { job } = record.decisions.find(({ decision }) => decision === "duplicate")!;
      const claim = event(record, "claim", "ok", (one) => one.job === job);
      drop(record, ({ op, request }) => op === "claim" && request === claim.request);
    },
  },
  {
    breaks: "I11",
    what: "a run that was never told of its loss",
    falsify: (record) => {
      const told = lastTold(record);
      drop(record, (one) => one === told);
      event(
        record,
        "handler ended",
        "note",
        ({ owner, job }) => owner === told.owner && job === told.job,
      ).atMs += 300;
    },
  },
  {
    breaks: "I11",
    what: "an effect after the signal",
    falsify: (record) => {
      const told = event(record, "aborted", "note");
      const sent = event(record, "write", "invoke", ({ job }) => job === told.job);
      for (const kind of ["note", "invoke"] as const) {
        const op = kind === "note" ? "check" : "write";
        record.history.push({
          ...sent,
          kind,
          op,
          request: 99_999,
          atMs: told.atMs + (kind === "note" ? 0.1 : 0.2),
        });
      }
    },
  },
  {
    breaks: "I16",
    what: "lapsed leases that lie about while workers ask",
    falsify: (record) => {
      for (const { was } of claims(record.audit))
        if (was["owner"] !== null) was["lease_until"] = Number(was["lease_until"]) - 600;
    },
  },
  {
    breaks: "I17",
    what: "an overlap without a cause",
    falsify: (record) => {
      drop(record, ({ op }) => op === "pause");
    },
  },
  {
    breaks: "I17",
    what: "an overlap while somebody else was stopped",
    falsify: (record) => {
      for (const one of record.history) if (one.op === "pause") one.target = "worker 3";
    },
  },
  {
    breaks: "I17",
    what: "an overlap that goes on after its cause",
    falsify: (record) => {
      const told = lastTold(record);
      drop(record, (one) => one === told);
      for (const one of record.history)
        if (one.op === "handler ended" && one.job === told.job) one.atMs += 300;
    },
  },
];
