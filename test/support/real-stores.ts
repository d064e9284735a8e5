/** Tests that run on each store as users have it: a file, and PostgreSQL 18; the memory store is none. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { Leasehold, type LeaseholdOptions } from "../../src/client/leasehold.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { drawnStores, type StoreKind } from "./drawn-stores.ts";
import { optional } from "./optional.ts";
import { emptyDatabase } from "./postgres-database.ts";
import { missingPostgres } from "./postgres-server.ts";

/** An empty store of its own until the end of the test. */
export interface RealStore {
  /** A file, or the URL of a database: for the test's processes, which open it by `processes/store.js`. */
  readonly address: string;
  /** A folder for what else the test writes. */
  readonly folder: string;
  client(options?: Partial<LeaseholdOptions>): Leasehold;
}

type Tests = (make: () => Promise<RealStore>) => void;

/** Declares the same tests for each store, or for the one that is drawn. */
export function onRealStores(
  part: string,
  tests: Tests,
  kinds: readonly StoreKind[] = drawnStores(part),
): void {
  if (kinds.includes("sqlite")) {
    describe(`${part}, on SQLite`, () => {
      tests(async () => {
        const folder = temporaryFolder();
        return realStore(join(folder, "jobs.db"), folder);
      });
    });
  }
  if (kinds.includes("postgres")) {
    optional(`${part}, on PostgreSQL 18`, missingPostgres(18), () => {
      tests(async () => realStore(await emptyDatabase(18), temporaryFolder()));
    });
  }
}

/** For tests of one answer that both have to give. */
export function onBothStores(part: string, tests: Tests): void {
  onRealStores(part, tests, ["sqlite", "postgres"]);
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function realStore(address: string, folder: string): RealStore {
  return {
    address,
    folder,
    client(options) {
      const store = address.startsWith("postgres") ? postgres(address) : sqlite(address);
      const leasehold = new Leasehold({ store, log: () => {}, ...options });
      onTestFinished(() => leasehold.close());
      return leasehold;
    },
  };
}
