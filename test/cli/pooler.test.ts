import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { optional } from "../support/optional.ts";
import { missingPooler, pgbouncer } from "../support/pgbouncer.ts";
import { postgresServer } from "../support/postgres-server.ts";
import { cli, file, folder } from "./support.ts";

/** Server connections behind the pooler, for two processes that would open six each. */
const FEW = 2;

/** One handler blocks its loop for longer than a lease, once the renewal thread is at work: it alone can keep that. */
const JOBS = `
import { defineJob } from "leasehold";
export const step = defineJob({
  name: "step",
  leaseMs: 6_000,
  async run({ input, lease, signal }) {
    if (input.n !== 0) return;
    for (let beforeMs = 0, nowMs = lease.remainingMs(); beforeMs === 0 || nowMs <= beforeMs; ) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      signal.throwIfAborted();
      beforeMs = nowMs;
      nowMs = lease.remainingMs();
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_500);
  },
});
`;

/** PgBouncer itself sets these to what each client asks for. */
const SET_BY_THE_POOLER = [
  "application_name",
  "client_encoding",
  "DateStyle",
  "standard_conforming_strings",
  "TimeZone",
];

/** What a session may leave to the next, each with the server process that has it. */
const LEFTOVERS = `
  select 'setting ' || name as what from pg_settings where source = 'session' and not name = any ($1)
  union all select 'statement ' || name from pg_prepared_statements
  union all select 'cursor ' || name from pg_cursors where name <> ''
  union all select 'channel ' || name from pg_listening_channels() as name
  union all select 'advisory lock' from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
  union all select 'temporary schema' where pg_my_temp_schema() <> 0`;

/** Holds all server connections of the pooler at once, so that none is missed. */
async function leftovers(url: string): Promise<string[]> {
  const clients = await Promise.all(
    Array.from({ length: FEW }, async () => {
      const client = new pg.Client({ connectionString: url });
      onTestFinished(() => client.end());
      await client.connect();
      await client.query("begin");
      return client;
    }),
  );
  const pids = await Promise.all(clients.map((client) => client.query("select pg_backend_pid() as pid")));
  expect(new Set(pids.map(({ rows }) => rows[0].pid)).size).toBe(FEW);
  const found = await Promise.all(clients.map((client) => client.query(LEFTOVERS, [SET_BY_THE_POOLER])));
  return found.flatMap(({ rows }) => rows.map(({ what }) => String(what)));
}

optional("the command line behind PgBouncer", missingPooler(18), () => {
  describe("two worker processes on a pooler with two server connections", () => {
    it("drain a queue, keep the lease of a blocked handler, and leave nothing set for the next session", async () => {
      const servers = inject("servers");
      const pooler = await pgbouncer(18, FEW, servers);
      const schema = `pooled_${process.pid}`;
      const aside = new pg.Client({ connectionString: await postgresServer(18, servers) });
      await aside.connect();
      onTestFinished(async () => {
        await aside.query(`drop schema if exists ${schema} cascade`);
        await aside.end();
      });
      const cwd = folder();
      file(cwd, "jobs.mjs", JOBS);
      file(cwd, "in.ndjson", Array.from({ length: 200 }, (_, n) => `{"n":${n}}`).join("\n"));
      const args = [
        "batch",
        "jobs.mjs",
        "--job",
        "step",
        "--input",
        "in.ndjson",
        "--processes",
        "2",
        "--json",
      ];
      const { code, stdout, stderr } = await cli([...args, "--store", `${pooler}?schema=${schema}`], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(JSON.parse(stdout)).toMatchObject({ ended: { completed: 200 }, reclaimed: 0 });
      expect(await leftovers(pooler)).toEqual([]);
    });
  });
});
