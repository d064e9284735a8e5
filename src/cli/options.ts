/** Flags that mean the same in every command. */

import { type Command, InvalidArgumentError } from "commander";

export interface StoreFlags {
  readonly store?: string;
  readonly json?: boolean;
}

/** Adds `--store` and `--json`. */
export function storeOptions(command: Command): Command {
  return command
    .option(
      "--store <url>",
      "sqlite:PATH, the path of a file, or postgres://… (else LEASEHOLD_STORE, else ./leasehold.db)",
    )
    .option("--json", "print JSON on stdout");
}

/** A parser for one of a few words. */
export function oneOf<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new InvalidArgumentError(`Give one of ${words.join(", ")}.`);
    return found;
  };
}

/** A parser for words with commas between them, or a flag given several times. */
export function listOf<T extends string>(
  parse: (text: string) => T,
): (text: string, before?: readonly T[]) => T[] {
  return (text, before = []) => [...before, ...text.split(",").map((word) => parse(word.trim()))];
}
