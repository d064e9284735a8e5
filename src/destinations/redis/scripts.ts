/** The guard's Lua, put together from its files: each script is one text, known to the server by its SHA-1. */

import { createHash } from "node:crypto";
import { loadText } from "../statements.ts";

export interface Script {
  readonly text: string;
  readonly sha: string;
  /** Lines before the caller's own, which is what its errors count from. */
  readonly linesBefore: number;
}

const part = (name: string): string => loadText(new URL(`./lua/${name}.lua`, import.meta.url)).trim();

function scriptOf(parts: readonly string[], body?: string): Script {
  const before = parts.join("\n");
  // On lines of its own: it may end with a comment.
  const text =
    body === undefined
      ? before
      : [before, "local function body(redis, KEYS, ARGV)", body, "end", ...GUARDED.map(part)].join("\n");
  const sha = createHash("sha1").update(text).digest("hex");
  return { text, sha, linesBefore: before.split("\n").length + 1 };
}

/** Behind the caller's own: the fence, the effect, and what becomes of both. */
const GUARDED = ["admit", "guard", "settle"];

const small = (...names: string[]): Script => scriptOf(["keys", ...names].map(part));

/** A guarded write whose effect is `body`. */
export function writeScript(body: string): Script {
  return scriptOf(["keys", "order", "json", "lasts", "undo"].map(part), body);
}

export const COMMANDS: Script = writeScript(part("commands"));
/** For one command, which needs nothing of what takes back others. */
export const ONE_COMMAND: Script = small("order", "json", "lasts", "admit", "one", "settle");
export const OPEN: Script = small("open");
export const MARK: Script = small("mark");
export const FORGET_MARK: Script = small("forget-mark");
export const PRUNE: Script = small("order", "prune");
export const CLEAR_HALF_MADE: Script = small("clear-half-made");
