/**
 * Where the command line writes: data on stdout, words on stderr. Tables are drawn on a terminal only; elsewhere the
 * same rows come with tabs between the columns, so that `cut` and `awk` can read them.
 */

import { printable, printableJson } from "../printable.ts";
import { shortDuration } from "./duration.ts";

const writeData = process.stdout.write.bind(process.stdout);

/** One line of data. */
export function data(text: string): void {
  writeData(`${printable(text)}\n`);
}

/** Sends to stderr what a jobs module prints on stdout from now on: with `--json` stdout is for one document. */
export function keepStdoutForData(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** One JSON document on one line: what `--json` prints. */
export function json(value: unknown): void {
  writeData(`${printableJson(JSON.stringify(value))}\n`);
}

/** Something said to a person. */
export function words(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** Something said after Ctrl-C, which a terminal echoes, or beside a progress bar: on a line of its own. */
export function wordsOnNewLine(text: string): void {
  words(onTerminal("stderr") ? `\n${text}` : text);
}

export function onTerminal(stream: "stdout" | "stderr" = "stdout"): boolean {
  return process[stream].isTTY === true;
}

/** Rows under a head, drawn on a terminal, tab-separated elsewhere. */
export async function table(head: readonly string[], rows: readonly (readonly string[])[]): Promise<void> {
  if (!onTerminal()) {
    for (const row of [head, ...rows]) data(row.map((cell) => cell.replaceAll(/[\t\n]/g, " ")).join("\t"));
    return;
  }
  const { default: Table } = await import("cli-table3");
  const drawn = new Table({ head: [...head], style: { head: [], border: [], compact: true } });
  drawn.push(...rows.map((row) => row.map(printable)));
  data(drawn.toString());
}

/** A store time: how long ago on a terminal, ISO 8601 elsewhere. `nowMs` is the store's time too (T4). */
export function time(atMs: number | null, nowMs: number): string {
  if (atMs === null) return "-";
  if (!onTerminal()) return new Date(atMs).toISOString();
  const agoMs = nowMs - atMs;
  return agoMs >= 0 ? `${shortDuration(agoMs)} ago` : `in ${shortDuration(-agoMs)}`;
}

/** Resolves when everything written has left the process; it must before `process.exit`. */
export async function flushed(): Promise<void> {
  const writers = [writeData, process.stderr.write.bind(process.stderr)];
  await Promise.all(writers.map((write) => new Promise<void>((resolve) => write("", () => resolve()))));
}

/** `leasehold list | head` is no error: when the reader has gone there is nobody left to write for. */
export function endQuietlyWhenReaderGoes(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
}
