/** Rows that no sound store writes, or leaves. */

import { type Corruption, claims, end, last, renewal, takenOver } from "./falsified.ts";

export const ROWS: readonly Corruption[] = [
  {
    breaks: "I1",
    what: "a token given out twice",
    falsify: (record) => {
      const [first, second] = claims(takenOver(record));
      second!.is["generation"] = first!.is["generation"];
    },
  },
  {
    breaks: "I1",
    what: "a token given out again that a lost grant had",
    falsify: (record) => {
      record.lost = [structuredClone(claims(takenOver(record))[0]!.entry)];
    },
  },
  {
    breaks: "I2",
    what: "a generation left out",
    falsify: (record) => {
      claims(takenOver(record))[1]!.is["generation"] = 7;
    },
  },
  {
    breaks: "I2",
    what: "a generation that a renewal changed",
    falsify: (record) => {
      const { was, is } = renewal(takenOver(record));
      is["generation"] = Number(was["generation"]) - 1;
    },
  },
  {
    breaks: "I2",
    what: "a claim below the epoch",
    falsify: (record) => {
      claims(takenOver(record))[1]!.entry.epoch = 1;
    },
  },
  {
    breaks: "I3",
    what: "a lease taken before its end",
    falsify: (record) => {
      const { was, entry } = claims(takenOver(record))[1]!;
      was["lease_until"] = entry.storeMs + 100;
    },
  },
  {
    breaks: "I3",
    what: "a lease taken by a clock that was not the store's",
    falsify: (record) => {
      const { was, is, entry } = claims(takenOver(record))[1]!;
      was["lease_until"] = entry.storeMs + 100;
      is["claimed_at"] = entry.storeMs + 3_600_000;
    },
  },
  {
    breaks: "I3",
    what: "a delayed job taken before it was due",
    falsify: (record) => {
      const { was, entry } = claims(takenOver(record))[0]!;
      was["run_at"] = entry.storeMs + 50;
    },
  },
  {
    breaks: "I3",
    what: "a delayed job made due before its time",
    falsify: (record) => {
      const [enqueued] = takenOver(record);
      const { is, storeMs, job, epoch } = enqueued!;
      const delayed = { ...is, run_at: storeMs + 500 };
      record.audit.splice(record.audit.indexOf(enqueued!) + 1, 0, {
        seq: 0,
        job,
        was: delayed,
        is,
        ended: null,
        storeMs,
        epoch,
        timeline: 0,
      });
      for (const [index, entry] of record.audit.entries()) entry.seq = index + 1;
    },
  },
  {
    breaks: "I3",
    what: "a blocked job taken",
    falsify: (record) => {
      claims(takenOver(record))[0]!.was["blocked_by"] = 1;
    },
  },
  {
    breaks: "I3",
    what: "a claim for longer than a lease",
    falsify: (record) => {
      const { is } = claims(takenOver(record))[0]!;
      is["lease_until"] = Number(is["lease_until"]) + 100;
    },
  },
  {
    breaks: "I4",
    what: "a renewal for longer than a lease",
    falsify: (record) => {
      const { is } = renewal(takenOver(record));
      is["lease_until"] = Number(is["lease_until"]) + 5_000;
    },
  },
  {
    breaks: "I4",
    what: "a lease that was shortened",
    falsify: (record) => {
      const { was, is } = renewal(takenOver(record));
      is["lease_until"] = Number(was["lease_until"]) - 10;
    },
  },
  {
    breaks: "I5",
    what: "an end by somebody else",
    falsify: (record) => {
      end(takenOver(record))["settled_owner"] = "one 1";
    },
  },
  {
    breaks: "I5",
    what: "an end by an earlier generation of the owner",
    falsify: (record) => {
      end(takenOver(record))["settled_generation"] = 1;
    },
  },
  {
    breaks: "I5",
    what: "an end that nobody signed",
    falsify: (record) => {
      end(takenOver(record))["settled_owner"] = null;
    },
  },
  {
    breaks: "I5",
    what: "an end by a generation from before a loss",
    falsify: (record) => {
      for (const entry of takenOver(record)) if (entry.ended !== null) entry.epoch = 1;
    },
  },
  {
    breaks: "I6",
    what: "a job that changes after its end",
    falsify: (record) => {
      const entries = takenOver(record);
      record.audit.push({ ...structuredClone(last(entries)), seq: last(record.audit).seq + 1 });
    },
  },
  {
    breaks: "I14",
    what: "a lease that lapsed and was never taken over",
    falsify: (record) => {
      const entries = takenOver(record);
      const { job } = entries[0]!;
      record.audit = record.audit.filter(
        (entry) => entry.job !== job || (entry.is !== null && entry.is["attempt"] !== 2),
      );
    },
  },
  {
    breaks: "I14",
    what: "a job that is due and waits",
    falsify: (record) => {
      const { job } = takenOver(record)[0]!;
      record.audit = record.audit.filter(
        (entry) => entry.job !== job || (entry.was === null && entry.ended === null),
      );
    },
  },
  {
    breaks: "I15",
    what: "more starts than attempts",
    falsify: (record) => {
      for (const { was, is, ended } of takenOver(record))
        for (const row of [was, is, ended]) if (row !== null) row["max_attempts"] = 1;
    },
  },
];
