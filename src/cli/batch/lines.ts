/** Reading NDJSON: one JSON text a line, split by bytes, so that no odd separator inside a text ends a line. */

import { createReadStream } from "node:fs";

export interface Line {
  /** Counted from 1, blank lines included, as editors count. */
  readonly number: number;
  readonly text: string;
}

export interface UnreadableLine {
  readonly number: number;
  readonly problem: string;
}

/**
 * Longer than any input that a store takes. A file without line ends (one large JSON array, a binary) is then told from
 * its start and does not fill the memory.
 */
export const LONGEST_LINE_BYTES: number = 16 * 1024 * 1024;

const NEWLINE = 0x0a;

/** The lines of a file that are not blank, in order. A byte order mark and the `\r` before a newline are dropped. */
export async function* linesOf(path: string): AsyncGenerator<Line | UnreadableLine> {
  let number = 0;
  for await (const bytes of splitAtNewlines(createReadStream(path))) {
    number += 1;
    const line = bytes === undefined ? tooLong(number) : decoded(bytes, number);
    if ("problem" in line || line.text !== "") yield line;
    if (bytes === undefined) return; // where the next line begins is anybody's guess
  }
}

/** Undefined stands for a line that is too long. */
async function* splitAtNewlines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]);
      parts = [];
      length = 0;
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_LINE_BYTES) return yield undefined;
  }
  if (length > 0) yield Buffer.concat(parts);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Buffer, number: number): Line | UnreadableLine {
  try {
    const text = utf8.decode(bytes);
    return { number, text: (number === 1 ? text.replace(/^\uFEFF/, "") : text).trim() };
  } catch {
    return { number, problem: "it is not UTF-8" };
  }
}

function tooLong(number: number): UnreadableLine {
  return {
    number,
    problem: `it is longer than ${LONGEST_LINE_BYTES} bytes; NDJSON has one JSON text a line`,
  };
}
