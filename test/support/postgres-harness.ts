import pg from "pg";
import { inject } from "vitest";
import type { JobId } from "../../src/protocol/identity.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import type { Store } from "../../src/stores/store.ts";
import type { Competitor, ConformanceHarness, ConformanceWorld } from "../../src/testing/index.ts";
import { startCompetitor } from "./competitor.ts";
import { pgbouncer } from "./pgbouncer.ts";
import { type PostgresProxy, postgresProxy } from "./postgres-proxy.ts";
import { type PostgresVersion, postgresServer } from "./postgres-server.ts";
import { withShiftedClock } from "./shifted-clock.ts";

/** One connection a server and test file, for what tests do beside the store, one thing after the other. */
const asides = new Map<string, pg.Pool>();
let schemas = 0;
/** Emptied schemas by server: to make one takes many times as long as to empty one. */
const emptied = new Map<string, string[]>();

/** Pools of a caller's own likewise: their connections keep what they have prepared from test to test. */
const callers = new Map<string, pg.Pool>();

function keptPool(kept: Map<string, pg.Pool>, url: string, max: number): pg.Pool {
  let pool = kept.get(url);
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: url, max, idleTimeoutMillis: 0, allowExitOnIdle: true });
    pool.on("error", () => {});
    kept.set(url, pool);
  }
  return pool;
}

/** Tables up to this size are emptied row by row: a truncation makes new files, which takes forty times as long, bytes. */
const SMALL = 128 * 1024;

/** Sequences go on: what an earlier test left under way in the server must not meet a number that is given out again. */
function emptying(schema: string): string {
  return `do $$
    declare
      names text[];
      sizes bigint;
      name text;
    begin
      select array_agg(c.oid::regclass::text), sum(pg_relation_size(c.oid)) into names, sizes
      from pg_class c where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' and c.relname <> 'store';
      if sizes > ${SMALL} then
        execute 'truncate ' || array_to_string(names, ', ');
      else
        foreach name in array names loop execute 'delete from ' || name; end loop;
      end if;
      update ${schema}.store set epoch = 0, deleted_generation = 0;
    end $$`;
}

/** One schema of its own on the shared server, and every handle on it that a test asked for. */
export interface PostgresWorld extends ConformanceWorld {
  readonly url: string;
  /** Where the server itself is, whatever stands before it. */
  readonly direct: string;
  readonly schema: string;
  /** For what a test does beside the store. */
  query(text: string, params?: unknown[]): Promise<Record<string, unknown>[]>;
}

export interface PostgresWorldOptions {
  /** The stores and the callers' transactions go through a pooler with so many server connections. */
  readonly pooler?: number;
  /** The stores share one pool, which they were given. */
  readonly isGivenPool?: boolean;
}

export async function postgresWorld(
  version: PostgresVersion,
  { pooler: size, isGivenPool = false }: PostgresWorldOptions = {},
): Promise<PostgresWorld> {
  const direct = await postgresServer(version, inject("servers"));
  const url = size === undefined ? direct : await pgbouncer(version, size, inject("servers"));
  const aside = keptPool(asides, direct, 1);
  schemas += 1;
  const used = emptied.get(url)?.pop();
  const schema = used ?? `test_${process.pid}_${schemas}`;
  const bound: unknown[] = [];
  const stores: Store[] = [];
  const clients: pg.Client[] = [];
  const competitors: Competitor[] = [];
  const proxies: PostgresProxy[] = [];
  const madeSchemas: string[] = [];

  const open = (where = schema, address = url): Store => {
    // No sweep is put off: time does not pass here.
    const store = postgres({
      ...(isGivenPool && address === url
        ? { pool: keptPool(callers, url, 10) }
        : { connectionString: address }),
      // As is documented for poolers: they deliver no notification.
      ...(size === undefined ? {} : { listen: direct }),
      schema: where,
      sweepMs: 0,
      trace: (_, parameters) => bound.push(...parameters),
    });
    stores.push(store);
    return store;
  };
  const otherSchema = (suffix: string): string => {
    madeSchemas.push(`${schema}_${suffix}`);
    return `${schema}_${suffix}`;
  };
  const query = async (text: string, params: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await aside.query(text, params)).rows;
  const shift = async (what: string, by: number): Promise<void> => {
    await query(
      `update ${schema}.job set lease_until = lease_until + $2, run_at = run_at + $2 where job_id::text = $1`,
      [what, by],
    );
    await query(`update ${schema}.lease set lease_until = lease_until + $2 where name = $1`, [what, by]);
    await query(
      `update ${schema}.schedule set next_slot = next_slot + $2, set_at = set_at + $2 where name = $1`,
      [what, by],
    );
  };

  const empty = async (): Promise<void> => {
    await query(emptying(schema));
    emptied.set(url, [...(emptied.get(url) ?? []), schema]);
  };

  const store = open();
  await store.open();
  await query(`create table if not exists ${schema}.note (key text primary key, value text not null)`);

  return {
    url,
    direct,
    schema,
    query,
    store,
    lapse: (what: JobId | string, byMs) => shift(what, -byMs),
    setBack: (what: JobId | string, byMs) => shift(what, byMs),
    async another() {
      const other = open();
      await other.open();
      return other;
    },
    async begin() {
      const tx = new pg.Client({ connectionString: url });
      clients.push(tx);
      await tx.connect();
      await tx.query("begin");
      return {
        tx,
        write: async (key, value) =>
          void (await tx.query(`insert into ${schema}.note values ($1, $2)`, [key, value])),
        commit: async () => void (await tx.query("commit")),
        rollback: async () => void (await tx.query("rollback")),
      };
    },
    async writeInBody(tx, key, value) {
      await tx.query(`insert into ${schema}.note (key, value) values ($1, $2)`, [key, value]);
    },
    async read(key) {
      const [row] = await query(`select value from ${schema}.note where key = $1`, [key]);
      return row?.["value"] as string | undefined;
    },
    async withWorkerClock(offsetMs, body) {
      const before = bound.length;
      await withShiftedClock(offsetMs, body);
      return bound.slice(before);
    },
    async competitor() {
      const competitor = startCompetitor(url, schema);
      competitors.push(competitor);
      await competitor.store.open();
      return competitor;
    },
    async unreachable() {
      const proxy = await postgresProxy(url);
      proxies.push(proxy);
      const other = open(schema, proxy.url);
      await other.open();
      proxy.freeze();
      return other;
    },
    async unmigrated(count) {
      const where = otherSchema("new");
      return Array.from({ length: count }, () => open(where));
    },
    async tooNew() {
      const where = otherSchema("later");
      await open(where).open();
      await query(`update ${where}.store set schema_version = 999, works_with = 999`);
      return open(where);
    },
    async close() {
      for (const competitor of competitors) await competitor.kill();
      for (const proxy of proxies) await proxy.close();
      await Promise.all(stores.map((opened) => opened.close()));
      for (const client of clients) await client.end();
      for (const made of madeSchemas) await query(`drop schema if exists ${made} cascade`);
      await empty();
    },
  };
}

export function postgresHarness(
  version: PostgresVersion,
  options: PostgresWorldOptions = {},
): ConformanceHarness {
  return { open: () => postgresWorld(version, options), timePrecisionMs: 1, gaps: [] };
}
