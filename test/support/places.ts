/** Where processes keep their jobs together: a SQLite file, or a PostgreSQL server. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, onTestFinished } from "vitest";
import type { JobView } from "../../src/client/job-view.ts";
import { Leasehold, type LeaseholdOptions } from "../../src/client/leasehold.ts";
import { systemWorld } from "../../src/clock/system.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { loadDriver } from "../../src/stores/sqlite/driver.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import type { Claimed, Store } from "../../src/stores/store.ts";
import { temporaryFolder } from "../stores/sqlite/world.ts";
import { Child, type ChildOptions } from "./child.ts";
import { drawnStores } from "./drawn-stores.ts";
import { eventually } from "./eventually.ts";
import { optional } from "./optional.ts";
import { emptyDatabase } from "./postgres-database.ts";
import { missingPostgres } from "./postgres-server.ts";

/** 15 by wish; what is common to all versions is in the conformance suite, which runs on both. */
const VERSION = process.env["LEASEHOLD_PLACE_VERSION"] === "15" ? 15 : 18;
const CALL = { timeoutMs: 20_000 };
const { ids } = systemWorld();

export interface Place {
  readonly kind: "sqlite" | "postgres";
  /** The file, or the server's address. */
  readonly address: string;
  /** The test's own client. */
  readonly leasehold: Leasehold;
  /** A further client of this process, on connections of its own. */
  client(options?: Partial<LeaseholdOptions>): Leasehold;
  /** A process of `test/faults/processes/`, which gets the address first. */
  start(script: string, args?: readonly (string | number)[], options?: ChildOptions): Child;
  /** One claim that may take over, as somebody who has places free would make it. */
  claimAll(queue: string): Promise<Claimed>;
  /** Until nobody but the holder may write; resolves to how to end that. */
  holdWrites(): Promise<() => Promise<void>>;
  /** The job, once this is so. */
  until(what: string, jobId: string, is: (view: JobView) => boolean): Promise<JobView>;
  nowMs(): Promise<number>;
}

/** Declares the same tests for each kind, or for the one that is drawn. */
export function inEachPlace(part: string, tests: (open: () => Promise<Place>) => void): void {
  const kinds = drawnStores(part);
  if (kinds.includes("sqlite")) describe(`${part}: in a SQLite file`, () => tests(sqlitePlace));
  if (kinds.includes("postgres"))
    optional(`${part}: on PostgreSQL ${VERSION}`, missingPostgres(VERSION), () => tests(postgresPlace));
}

async function sqlitePlace(): Promise<Place> {
  const path = join(temporaryFolder(), "jobs.db");
  return place(
    "sqlite",
    path,
    () => sqlite(path),
    async () => {
      const { Database } = await loadDriver();
      const database = new Database(path, { timeout: 10_000 });
      database.exec("begin immediate");
      return async () => {
        database.exec("rollback");
        database.close();
      };
    },
  );
}

async function postgresPlace(): Promise<Place> {
  const url = await emptyDatabase(VERSION);
  return place(
    "postgres",
    url,
    () => postgres(url),
    async () => {
      const { default: pg } = await import("pg");
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("begin; lock table leasehold.job in exclusive mode");
      return () => client.end();
    },
  );
}

function place(
  kind: Place["kind"],
  address: string,
  open: () => Store,
  holdWrites: Place["holdWrites"],
): Place {
  const client = (options: Partial<LeaseholdOptions> = {}): Leasehold => {
    const made = new Leasehold({ store: open(), log: () => {}, callTimeoutMs: 20_000, ...options });
    onTestFinished(() => made.close());
    return made;
  };
  const leasehold = client();
  return {
    kind,
    address,
    leasehold,
    client,
    start(script, args = [], options) {
      const file = fileURLToPath(new URL(`../faults/processes/${script}.js`, import.meta.url));
      const child = new Child(file, [address, ...args], options);
      onTestFinished(() => child.kill());
      return child;
    },
    claimAll: (queue) =>
      leasehold.store.claim({ owner: ids.owner(), queues: [queue], limit: 100, takeover: true }, CALL),
    holdWrites,
    until: (what, jobId, is) =>
      eventually(what, async () => {
        const view = await leasehold.get(jobId);
        return view !== undefined && is(view) && view;
      }),
    nowMs: () => leasehold.store.nowMs(CALL),
  };
}
