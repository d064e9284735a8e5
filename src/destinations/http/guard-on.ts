import { InvalidArgumentError } from "../../errors.ts";
import type { Guard } from "../destination.ts";
import { type GuardPool, postgresGuard } from "../postgres/index.ts";
import { type GuardDatabase, type GuardTx, sqliteGuard } from "../sqlite/index.ts";

/** The guard of the database that holds a service's data, so that a service need not know that kit too. */
export function guardOn(database: GuardDatabase | GuardPool): Guard<GuardTx> {
  if (has(database, "prepare")) return sqliteGuard(database as GuardDatabase);
  if (has(database, "connect")) return postgresGuard({ pool: database as GuardPool });
  // Not the value: an address may hold a password.
  throw new InvalidArgumentError("database", "nothing of the kind", "an open DatabaseSync, or a pg.Pool");
}

function has(database: unknown, method: string): boolean {
  return typeof (Object(database) as Record<string, unknown>)[method] === "function";
}
