/** Processes that leave something behind, end by themselves, or send the time of their own clocks. */

import { WALL_AHEAD_MS } from "../staged-run.ts";
import { type Corruption, drop, event } from "./falsified.ts";

export const PROCESSES: readonly Corruption[] = [
  {
    breaks: "I20",
    what: "a timer left behind",
    falsify: (record) => {
      event(record, "exit", "note").detail = {
        code: 0,
        handles: { timers: 3 },
        handlesAtStart: { timers: 0 },
      };
    },
  },
  {
    breaks: "I20",
    what: "memory that grows",
    falsify: (record) => {
      event(record, "exit", "note").detail = {
        code: 0,
        handles: {},
        rssAtStartMb: 80,
        rssMb: 90,
        jobs: 20_000,
      };
    },
  },
  {
    breaks: "I21",
    what: "an unhandled rejection",
    falsify: (record) => {
      const { process, incarnation, atMs } = event(record, "began", "note");
      record.history.push({
        process,
        incarnation,
        atMs,
        kind: "note",
        op: "unhandled",
        detail: { error: "oh" },
      });
    },
  },
  {
    breaks: "I21",
    what: "a process that did not end when it was told to",
    falsify: (record) => {
      const { process, incarnation, atMs } = event(record, "began", "note");
      record.history.push({
        process: "nemesis",
        incarnation: 1,
        atMs,
        kind: "note",
        op: "hung",
        target: process,
        detail: { incarnation },
      });
    },
  },
  {
    breaks: "I21",
    what: "a process that ended by itself",
    falsify: (record) => {
      drop(record, ({ op }) => op === "kill");
    },
  },
  {
    breaks: "I21",
    what: "a process that ended with an error",
    falsify: (record) => {
      event(record, "exit", "note").detail = { code: 1 };
    },
  },
  {
    breaks: "I22",
    what: "a worker's time among the parameters",
    falsify: (record) => {
      const watched = event(record, "statements watched", "note");
      watched.op = "statement";
      watched.detail = { parameters: [1, Math.round(WALL_AHEAD_MS + watched.atMs + 3_600_000)] };
    },
  },
];
