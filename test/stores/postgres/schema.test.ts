import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Fence } from "../../../src/protocol/identity.ts";
import { postgres } from "../../../src/stores/postgres/index.ts";
import { loadStatements } from "../../../src/stores/postgres/sql.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, ownServer } from "../../support/own-server.ts";
import { rowsOf } from "../../support/postgres-database.ts";
import { type PostgresWorld, postgresWorld } from "../../support/postgres-harness.ts";
import { missingPostgres, POSTGRES_VERSIONS } from "../../support/postgres-server.ts";
import { CALL, ids, newJob } from "./world.ts";

/** Parameters with which each hot statement runs; 500 is the most that is asked for at once. */
const FIVE_HUNDRED = Array.from({ length: 500 }, () => ids.jobId());
const HOT: Readonly<Record<string, readonly unknown[]>> = {
  "claim ready": ["owner", ["queue"], [500], [-(2 ** 31)], [0], false, 500],
  claim: ["owner", ["queue"], [500], [-(2 ** 31)], [0], false, true, 500, 500, null],
  renew: [FIVE_HUNDRED, FIVE_HUNDRED.map(() => "owner"), FIVE_HUNDRED.map(() => 1)],
  "complete plain": ["owner", FIVE_HUNDRED, FIVE_HUNDRED.map(() => 1), "{}"],
  complete: [FIVE_HUNDRED, FIVE_HUNDRED.map(() => "owner"), FIVE_HUNDRED.map(() => 1), "{}", false],
  "write steps": [
    FIVE_HUNDRED,
    FIVE_HUNDRED.map(() => "owner"),
    FIVE_HUNDRED.map(() => 1),
    FIVE_HUNDRED.map((_, n) => `step ${n}`),
    FIVE_HUNDRED.map(() => "begun"),
    FIVE_HUNDRED.map(() => null),
    FIVE_HUNDRED.map(() => null),
    FIVE_HUNDRED.map(() => null),
  ],
  "fail behind": [JSON.stringify(FIVE_HUNDRED.map((id) => ({ id, how: "failed" }))), 500],
  "free behind": [JSON.stringify(FIVE_HUNDRED.map((id) => ({ id, how: "completed" }))), 500],
  "note unfreed": [JSON.stringify(FIVE_HUNDRED.map((id) => ({ id, how: "completed" })))],
  "states of jobs": [JSON.stringify(FIVE_HUNDRED)],
  "lock predecessors": [JSON.stringify(FIVE_HUNDRED)],
  "lock ended predecessors": [JSON.stringify(FIVE_HUNDRED)],
  watch: [JSON.stringify(FIVE_HUNDRED)],
  block: [JSON.stringify(FIVE_HUNDRED.map((id) => ({ job_id: id, by: 1 })))],
  "take unfreed": [100],
  "look at order": [0, 100],
  "lock counted batches": [200],
  "fold batches": [[1, 2, 3]],
  "let run": [FIVE_HUNDRED],
  "sweep jobs": [0, -(2 ** 31), 0, 2_000, "", -(2 ** 31), 0, null],
  "promote due": [1_000],
  "free waiting": ["", 200, ["queue"]],
  "busy resources": [JSON.stringify([{ n: 0, resource: "account:42", queue: "queue", priority: 0 }])],
  "let next have": ["account:42"],
  "let next have each": [["account:42", "account:43"]],
};

/** More than once each where it is found, locked and written; each with each would be 500 times. */
const A_FEW = 6;

/** Statements about 500 jobs that are claimed, so that each of them has something to do. */
function of500(claimed: () => readonly Fence[]): Readonly<Record<string, () => readonly unknown[]>> {
  const jobIds = (): unknown[] => claimed().map(({ jobId }) => jobId);
  const owners = (): unknown[] => claimed().map(({ owner }) => owner);
  const generations = (): unknown[] => claimed().map(({ generation }) => generation);
  return {
    renew: () => [jobIds(), owners(), generations()],
    "complete plain": () => [claimed()[0]?.owner, jobIds(), generations(), "{}"],
    complete: () => [jobIds(), owners(), generations(), "{}", false],
    "write steps": () => [
      jobIds(),
      owners(),
      generations(),
      ...["a step", "begun", null, null, null].map((value) => claimed().map(() => value)),
    ],
    claim: () => ["another", ["queue"], [500], [-(2 ** 31)], [0], false, true, 500, 500, null],
    "claim ready": () => ["another", ["queue"], [500], [-(2 ** 31)], [0], false, 500],
  };
}

/** Of all nodes of a plan that was run, the most rows that one gave or threw away. */
function mostRows(plan: string): number {
  const given = [...plan.matchAll(/rows=([\d.]+) loops=(\d+)/g)].map(
    ([, rows, loops]) => Number(rows) * Number(loops),
  );
  const removed = [...plan.matchAll(/Rows Removed by [^:]+: (\d+)/g)].map(([, rows]) => Number(rows));
  return Math.max(0, ...given, ...removed);
}

const MOMENTS = ["never made", "made when there were two jobs", "made when nothing was leased"] as const;

for (const [version, when] of POSTGRES_VERSIONS.flatMap((v) => MOMENTS.map((m) => [v, m] as const))) {
  optional(`plans on PostgreSQL ${version}: ${when}`, missingPostgres(version), () => {
    let world: PostgresWorld;
    let jobs: readonly Fence[] = [];
    const claimed = (): readonly Fence[] => jobs;

    beforeAll(async () => {
      world = await postgresWorld(version);
      const { schema, query, store } = world;
      await query(`alter table ${schema}.job set (autovacuum_enabled = off)`);
      await store.enqueue([newJob(), newJob({ queue: "other" })], CALL);
      if (when === "made when there were two jobs") await query(`analyze ${schema}.job, ${schema}.lease`);
      await store.enqueue(
        Array.from({ length: 20_000 }, () => newJob()),
        CALL,
      );
      await query(`insert into ${schema}.dependency (after_id, job_id, on_failure)
                   select gen_random_uuid(), gen_random_uuid(), 'fail' from generate_series(1, 20000)`);
      await query(`insert into ${schema}.history (job_id, seq, name, queue, priority, state, end_reason, lease_ms,
                     generation, attempt, max_attempts, expired_count, run, heals, input, created_at, finished_at)
                   select gen_random_uuid(), -n, 'ended', 1, 0, 'completed', 'completed', 1, 1, 1, 1, 0, 1, 0, 'null', 0, 0
                     from generate_series(1, 20000) n`);
      if (when === "made when nothing was leased") {
        await query(`analyze ${schema}.job, ${schema}.history, ${schema}.lease, ${schema}.unique_key`);
      }
      const owner = ids.owner();
      const claim = { owner, queues: ["queue"], limit: 500, takeover: false };
      jobs = (await store.claim(claim, CALL)).jobs.map(({ job: { jobId, generation } }) => ({
        jobId,
        owner,
        generation,
      }));
    });
    afterAll(async () => {
      await world?.query(`alter table ${world.schema}.job reset (autovacuum_enabled)`);
      await world?.close();
    });

    describe(`every hot statement, with statistics ${when}`, () => {
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        for (const [name, parameters] of Object.entries(HOT)) {
          it(`reaches jobs by an index or by their place: ${name}, ${mode}`, async () => {
            const plan = await planOf(world, name, parameters, mode);
            expect(plan).not.toMatch(
              /Seq Scan on (job|history|dependency)|Bitmap Index Scan on job_(order|delayed|waiting)/,
            );
            // Expensive-looking statements are compiled first, which takes far longer than they do.
            expect(Number(/cost=[\d.]+\.\.([\d.]+)/.exec(plan)?.[1])).toBeLessThan(100_000);
          });
        }
      }

      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        for (const [name, parameters] of Object.entries(of500(claimed))) {
          it(`looks at each of 500 claimed jobs a few times, not at each with each: ${name}, ${mode}`, async () => {
            const plan = await planOf(world, name, parameters(), mode, "analyze, timing off");
            expect(mostRows(plan), plan).toBeLessThan(A_FEW * 500);
          });
        }
      }

      it("asks for each resource by its place in the index of those in line", async () => {
        const asked = ["busy resources", "free waiting", "let next have each"];
        for (const name of asked) {
          const plan = await planOf(world, name, HOT[name] ?? [], "force_generic_plan");
          expect(plan, plan).toMatch(
            /Index Scan (using|on) job_in_line[^\n]*\n\s*Index Cond: [^\n]*resource/,
          );
        }
      });

      it("claims in the order of the line, without sorting it", async () => {
        for (const name of ["claim ready", "claim"]) {
          const plan = await planOf(world, name, HOT[name] ?? [], "force_generic_plan");
          expect(plan).toMatch(/LockRows[^\n]*\n\s*-> +Index Scan using job_order on job/);
        }
      });
    });
  });
}

for (const version of POSTGRES_VERSIONS) {
  optional(`pages on PostgreSQL ${version}`, missingOwnServer(version), () => {
    it("touches no index when it claims and renews 500 jobs", async () => {
      // On a server of its own: an older transaction of anybody keeps dead rows in their pages.
      const { url } = await ownServer(version, { autovacuum: "off" });
      const store = postgres(url);
      await store.enqueue(
        Array.from({ length: 500 }, () => newJob()),
        CALL,
      );
      const owner = ids.owner();
      const { jobs } = await store.claim({ owner, queues: ["queue"], limit: 500, takeover: false }, CALL);
      const fences = jobs.map(({ job }) => ({ jobId: job.jobId, owner, generation: job.generation }));
      await store.renew(fences, CALL);
      await store.close(); // with which the server has its counts
      const counted = await eventually(async () => {
        const [row] = await rowsOf(
          url,
          `select n_tup_upd::integer as updated, n_tup_hot_upd::integer as hot
             from pg_stat_user_tables where relname = 'job'`,
        );
        return Number(row?.["updated"]) >= 1_000 ? row : undefined;
      });
      expect(counted).toEqual({ updated: 1_000, hot: 1_000 });
    });
  });
}

async function planOf(
  { schema, query }: PostgresWorld,
  name: string,
  parameters: readonly unknown[],
  mode: string,
  options = "costs",
): Promise<string> {
  const text = loadStatements(schema).get(name) ?? "";
  await query("begin");
  try {
    await query(`set local plan_cache_mode = ${mode}`);
    await query(`prepare hot as ${text}`);
    const rows = await query(`explain (${options}) execute hot (${parameters.map(literal).join(", ")})`);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  } finally {
    await query("rollback");
    await query("deallocate all");
  }
}

function literal(value: unknown): string {
  if (Array.isArray(value)) {
    const members = value.map((member) => (member === null ? "null" : `"${String(member)}"`));
    return `'{${members.join(",")}}'`;
  }
  return typeof value === "string" ? `'${value}'` : String(value);
}

/** The server reports its counts when a connection becomes idle: soon, not at once. */
async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
