/** The journal for people: one line an event, with the generation it belongs to. */

import type { JournalEntry } from "../protocol/journal.ts";

/** What a kind of entry is called, where its own name does not say enough. */
const SAID: Partial<Record<JournalEntry["kind"], string>> = {
  retrying: "failed, will be retried",
  cancel_requested: "cancel requested",
  retried: "retried by an operator",
  expired: "ended: its lease lapsed and no attempt was left",
};

/** Times are store times; the first entry's is written in full, the others as seconds after it. */
export function journalText(journal: readonly JournalEntry[]): string {
  const beganMs = journal[0]?.atMs ?? 0;
  return journal
    .map((entry, index) => {
      const at =
        index === 0 ? new Date(entry.atMs).toISOString() : `+${((entry.atMs - beganMs) / 1000).toFixed(3)} s`;
      return `  ${at.padStart(24)}  generation ${String(entry.generation).padStart(3)}  ${sentence(entry)}`;
    })
    .join("\n");
}

function sentence(entry: JournalEntry): string {
  const note = entry.message === undefined ? "" : `: ${entry.message}`;
  if (entry.kind === "refused") {
    const often = (entry.count ?? 1) > 1 ? `, ${entry.count} times` : "";
    return `REFUSED ${entry.operation ?? "write"} by ${entry.owner}: generation ${entry.generation}, the current one is ${entry.current}${often}${note}`;
  }
  if (entry.kind === "lapsed") return `lease of ${entry.owner} ended`;
  const by = entry.owner === null ? "" : ` by ${entry.owner}`;
  return `${SAID[entry.kind] ?? entry.kind}${by}${note}`;
}
