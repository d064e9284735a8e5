/** Where a batch's lines come from. They are read twice, so what can be read only once is copied to a file first. */

import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { usageError } from "../exit.ts";

export interface Source {
  /** For messages: what the caller typed. */
  readonly shown: string;
  /** A file that can be read again. */
  readonly path: string;
  /** The batch's name when none was given; undefined for standard input, which has none. */
  readonly defaultName: string | undefined;
  /** Changes when the file was written to between two readings. */
  version(): Promise<string>;
  dispose(): Promise<void>;
}

export async function openSource(input: string): Promise<Source> {
  if (input === "-") return spooled("standard input", process.stdin, undefined);
  const path = resolve(input);
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError(`--input: ${path} cannot be read: ${reason(error)}.`);
  });
  if (found.isDirectory())
    throw usageError(`--input: ${path} is a folder. Give a file, or - for standard input.`);
  // A pipe (`<(…)`) has a new path each time, so it has no name either.
  if (!found.isFile()) return spooled(input, createReadStream(path), undefined);
  return { shown: input, path, defaultName: path, version: () => versionOf(path), dispose: async () => {} };
}

async function spooled(
  shown: string,
  stream: NodeJS.ReadableStream,
  defaultName: undefined,
): Promise<Source> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-batch-"));
  const path = join(folder, "input.ndjson");
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await pipeline(stream, createWriteStream(path));
  } catch (error) {
    await dispose();
    throw usageError(`--input: ${shown} cannot be read: ${reason(error as NodeJS.ErrnoException)}.`);
  }
  return { shown, path, defaultName, version: () => versionOf(path), dispose };
}

async function versionOf(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path);
  return `${size}:${mtimeMs}`;
}

function reason(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "no such file";
  if (error.code === "EACCES") return "permission denied";
  return error.message;
}
