/** What no destination that keeps the contract decides. */

import { type Corruption, last } from "./falsified.ts";

export const DESTINATIONS: readonly Corruption[] = [
  {
    breaks: "I7",
    what: "a lower token applied after a higher one",
    falsify: (record) => {
      const stale = record.decisions.find(({ decision }) => decision === "stale")!;
      record.decisions.push({
        ...stale,
        seq: last(record.decisions).seq + 1,
        decision: "applied",
        key: `${stale.key}2`,
      });
    },
  },
  {
    breaks: "I7",
    what: "a lower token applied after a replay by a higher one",
    falsify: (record) => {
      const replay = record.decisions.find(({ decision }) => decision === "duplicate")!;
      const first = record.decisions.find(({ key }) => key === replay.key)!;
      record.decisions.push({ ...first, seq: last(record.decisions).seq + 1, key: `${first.key}2` });
    },
  },
  {
    breaks: "I7",
    what: "two owners applied with one generation",
    falsify: (record) => {
      const first = record.decisions.find(({ decision }) => decision === "duplicate")!;
      record.decisions.push({
        ...first,
        seq: last(record.decisions).seq + 1,
        owner: "another",
        decision: "applied",
        key: "k",
      });
    },
  },
  {
    breaks: "I8",
    what: "an effect applied twice",
    falsify: (record) => {
      record.decisions.find(({ decision }) => decision === "duplicate")!.decision = "applied";
    },
  },
  {
    breaks: "I8",
    what: "a repeat answered otherwise",
    falsify: (record) => {
      record.decisions.find(({ decision }) => decision === "duplicate")!.answer = "by somebody";
    },
  },
  {
    breaks: "I8",
    what: "a job answered with another one's effect",
    falsify: (record) => {
      const [one, other] = record.decisions.filter(
        ({ decision, destination }) => decision === "applied" && destination === "http",
      );
      record.decisions.find(({ seq }) => seq === other!.seq)!.decision = "duplicate";
      other!.answer = one!.answer;
    },
  },
  {
    breaks: "I9",
    what: "a token that nobody was granted",
    falsify: (record) => {
      record.decisions.find(({ decision }) => decision === "stale")!.owner = "nobody";
    },
  },
  {
    breaks: "I9",
    what: "a refused token of a resource that nobody was granted",
    falsify: (record) => {
      record.decisions.find(({ line }) => line.startsWith("lease:"))!.generation = 9;
    },
  },
  {
    breaks: "I23",
    what: "a token above the end",
    falsify: (record) => {
      const { job, line, owner } = record.decisions.find(({ decision }) => decision === "duplicate")!;
      const seq = last(record.decisions).seq + 1;
      const effect = {
        seq,
        destination: "http",
        atMs: record.endedAtMs,
        line,
        job,
        key: "late",
        generation: 9,
        owner,
      };
      record.decisions.push({ ...effect, decision: "applied", answer: "by 9" });
    },
  },
];
