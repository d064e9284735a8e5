import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { HistoryEvent } from "./record.ts";

/** All histories of a run in one, by time. A line that a SIGKILL has cut short is left out. */
export function readHistories(folder: string): HistoryEvent[] {
  const events = readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .map(parsed)
    .filter((event) => event !== undefined);
  return events.sort((a, b) => a.atMs - b.atMs);
}

function parsed(line: string): HistoryEvent | undefined {
  try {
    return JSON.parse(line) as HistoryEvent;
  } catch {
    return undefined;
  }
}
