/** The first reading of a batch: every line is looked at before anything is written, and every bad one is named. */

import { CliError, EXIT } from "../exit.ts";
import { BadLine, type EntryReader } from "./entries.ts";
import { type Line, linesOf } from "./lines.ts";
import type { Source } from "./source.ts";

/** Enough to see a pattern; the rest is counted. */
const SHOWN = 20;

export interface Checked {
  readonly lines: number;
  /** In which the batch's jobs will be: what its workers claim. */
  readonly queues: readonly string[];
}

/** @throws {CliError} naming each bad line with its number */
export async function checkLines(
  source: Source,
  reader: EntryReader,
  interrupted: AbortSignal,
): Promise<Checked> {
  let lines = 0;
  const queues = new Set<string>();
  let bad = 0;
  const shown: string[] = [];
  for await (const line of linesOf(source.path)) {
    if (interrupted.aborted) break;
    lines += 1;
    const problem = "problem" in line ? line.problem : await problemOf(line, reader, queues);
    if (problem === undefined) continue;
    bad += 1;
    if (shown.length < SHOWN) shown.push(`  line ${line.number}: ${problem}.`);
  }
  if (bad === 0) return { lines, queues: [...queues] };
  const more = bad > shown.length ? `\n  and ${bad - shown.length} more` : "";
  throw new CliError(
    EXIT.usage,
    `${source.shown}: ${bad} of ${lines} lines cannot be used, and nothing was enqueued:\n${shown.join("\n")}${more}`,
  );
}

async function problemOf(line: Line, reader: EntryReader, queues: Set<string>): Promise<string | undefined> {
  try {
    const entry = reader.read(line);
    await reader.check(entry);
    queues.add(entry.options.queue ?? entry.job.queue);
    return undefined;
  } catch (error) {
    if (error instanceof BadLine) return error.message;
    throw error;
  }
}
