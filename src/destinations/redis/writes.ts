/** What a caller may write with: a list of commands, or Lua of its own. Checked before anything is sent. */

import { InvalidArgumentError } from "../../errors.ts";
import { COMMANDS, type Script, writeScript } from "./scripts.ts";

export type RedisArgument = string | number | Uint8Array;

/** A command and its arguments, as in `["INCRBY", "balance", 5]`. */
export type RedisCommand = readonly [command: string, ...args: RedisArgument[]];

/** For a write that depends on what it reads. */
export interface RedisScript {
  /**
   * The body of a function that gets `redis`, `KEYS` and `ARGV`; what it returns is the answer. The same text each time:
   * the server keeps every other text as another script.
   */
  readonly lua: string;
  /** All keys that it reads or writes. */
  readonly keys?: readonly string[];
  readonly args?: readonly RedisArgument[];
}

export type RedisWrite = readonly RedisCommand[] | RedisScript;

/** What is sent of a write, beside what the guard itself sends. */
export interface EncodedWrite {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | Buffer)[];
  /** Its words, of a write that is one command: on a single server it needs less. */
  readonly only?: readonly (string | Buffer)[];
  /** What number `n`, counted from 1, is called in an error. */
  nameOf(n: number): string;
}

/** Lua hands a command's words over on a stack with room for 8,000. */
const MOST_ARGUMENTS = 5_000;
const MOST_SCRIPTS = 200;
/** It would lead the guard's own writes to another database: the list of commands refuses it. */
const SELECT = "SELECT";
const scripts = new Map<string, Script>();

/** @throws {InvalidArgumentError} */
export function encodeWrite(write: RedisWrite): EncodedWrite {
  return Array.isArray(write) ? encodeCommands(write) : encodeScript(write as RedisScript);
}

function encodeCommands(commands: readonly RedisCommand[]): EncodedWrite {
  for (const command of commands) {
    if (!Array.isArray(command) || typeof command[0] !== "string" || command[0] === "")
      throw new InvalidArgumentError("write", command, `a list of commands such as ["INCRBY", "balance", 5]`);
    if (command.length > MOST_ARGUMENTS)
      throw new InvalidArgumentError(
        "write",
        command.length,
        `${MOST_ARGUMENTS} arguments a command at most`,
      );
  }
  const encoded = commands.map((command) => command.map(encodeArgument));
  const [only] = encoded;
  const isOne = encoded.length === 1 && only !== undefined && commands[0]?.[0].toUpperCase() !== SELECT;
  return {
    script: COMMANDS,
    keys: [],
    args: encoded.flatMap((words) => [String(words.length), ...words]),
    ...(isOne ? { only } : {}),
    nameOf: (n) => `command ${n} of ${commands.length} (${commands[n - 1]?.[0]})`,
  };
}

function encodeScript(given: RedisScript): EncodedWrite {
  if (typeof given?.lua !== "string")
    throw new InvalidArgumentError("write", given, "a list of commands, or { lua, keys, args }");
  const { lua, keys = [], args = [] } = given;
  return {
    script: scriptFor(lua),
    keys: keys.map(checkKey),
    args: args.map(encodeArgument),
    nameOf: () => "the script",
  };
}

/** Bounded: somebody may write values into the text, against all advice. */
function scriptFor(lua: string): Script {
  const known = scripts.get(lua);
  if (known !== undefined) return known;
  if (scripts.size >= MOST_SCRIPTS) scripts.clear();
  const script = writeScript(lua);
  scripts.set(lua, script);
  return script;
}

function checkKey(key: unknown): string {
  if (typeof key !== "string") throw new InvalidArgumentError("keys", key, "texts");
  return key;
}

function encodeArgument(argument: RedisArgument): string | Buffer {
  if (typeof argument === "string") return argument;
  if (typeof argument === "number" && Number.isFinite(argument)) return String(argument);
  if (argument instanceof Uint8Array)
    return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength);
  throw new InvalidArgumentError("write", argument, "arguments that are texts, finite numbers or bytes");
}
