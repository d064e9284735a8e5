/** `{ tx }` on SQLite: the caller's own open handle on the same file, or the `tx` of a `job.complete` body. */

import { realpathSync } from "node:fs";
import type { Timers } from "../../clock/world.ts";
import { InvalidTransactionError } from "../../errors.ts";
import { statementsOf } from "./body.ts";
import type { Database } from "./driver.ts";
import { Statements, type Trace } from "./statements.ts";

/** A commit is looked for this often, and not for ever, ms. */
const LOOK_EVERY_MS = 5;
const LOOK_FOR_MS = 2_000;

const known = new WeakMap<object, Statements>();

/** @throws {InvalidTransactionError} when it is not an open transaction on this store's file */
export function callersStatements(
  tx: unknown,
  path: string,
  texts: ReadonlyMap<string, string>,
  trace: Trace | undefined,
): Statements {
  const ofBody = statementsOf(tx);
  if (ofBody !== undefined) return ofBody;
  if (!isDatabase(tx)) {
    throw new InvalidTransactionError("tx is not a SQLite database handle.", {
      next: "Pass your open DatabaseSync, or the tx that job.complete gives to its body while that body runs.",
    });
  }
  if (tx.isTransaction === false) {
    throw new InvalidTransactionError("tx has no open transaction.", {
      next: `Begin one with tx.exec("begin immediate"), and commit it yourself.`,
    });
  }
  if (!isSameFile(fileOf(tx), path)) {
    throw new InvalidTransactionError(`tx is open on ${fileOf(tx) || "memory"}, and the store on ${path}.`, {
      next: "Keep the application's tables and the jobs in one file to write them in one transaction.",
    });
  }
  let statements = known.get(tx);
  if (statements === undefined) {
    statements = new Statements(tx, texts, trace);
    known.set(tx, statements);
  }
  return statements;
}

/** Calls `fn` soon after the caller has committed, as far as that can be seen; workers poll anyway. */
export function whenCommitted(tx: unknown, timers: Timers, fn: () => void): void {
  if (!isDatabase(tx)) {
    timers.nextTurn(fn);
    return;
  }
  let leftMs = LOOK_FOR_MS;
  const look = (): void => {
    leftMs -= LOOK_EVERY_MS;
    if (!isPending(tx) || leftMs <= 0) fn();
    else timers.after(LOOK_EVERY_MS, look, { background: true });
  };
  timers.nextTurn(look);
}

function isPending(tx: Database): boolean {
  try {
    return tx.isTransaction === true;
  } catch {
    return false; // closed meanwhile
  }
}

function isDatabase(tx: unknown): tx is Database {
  return typeof tx === "object" && tx !== null && "prepare" in tx && "exec" in tx;
}

export function fileOf(database: Database): string {
  const main = database
    .prepare("pragma database_list")
    .all()
    .find((row) => row["name"] === "main");
  return String(main?.["file"] ?? "");
}

function isSameFile(one: string, other: string): boolean {
  if (one === "" || other === ":memory:") return one === "" && other === ":memory:";
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
