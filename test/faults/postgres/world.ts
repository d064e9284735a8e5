import { type JobView, Leasehold, type LeaseholdOptions } from "leasehold";
import { postgres } from "leasehold/postgres";
import { onTestFinished } from "vitest";
import type { JobId } from "../../../src/protocol/identity.ts";
import { eventually } from "../../support/eventually.ts";
import { Backends } from "../../support/postgres-backends.ts";
import { type PostgresWorld, postgresWorld } from "../../support/postgres-harness.ts";
import { type PostgresProxy, postgresProxy } from "../../support/postgres-proxy.ts";

/** How long calls may take: no longer than must be where a test waits for one in vain, ms. */
export function callTimeoutMs(by: "reset" | "silence"): number {
  return by === "silence" ? 1_200 : 10_000;
}

export interface FaultWorld extends PostgresWorld {
  /** For everything that is done beside the worker; it has no part in any fault. */
  readonly bystander: Leasehold;
  /** A client as users have it, from dist/, with a renewer thread. Its connections belong to this world's own user. */
  client(url?: string, options?: Partial<LeaseholdOptions>): Leasehold;
  /** The server's side of that user's connections. */
  readonly backends: Backends;
  /** Another session that takes a lock with this statement and holds it until it is released. */
  holding(statement: string): Promise<{ release(): Promise<void> }>;
  /** The same for the job's row. */
  holdingRow(jobId: JobId): Promise<{ release(): Promise<void> }>;
  /** A way to the server, for this world's own user. */
  proxy(): Promise<PostgresProxy>;
  /** Until the job has ended, as the bystander sees it. */
  ended(jobId: JobId): Promise<JobView>;
  /** The job's row, also while it is locked. */
  row(jobId: JobId): Promise<JobRow>;
  /** Until the job's lease ends later than `untilMs`; answers when. */
  renewedBeyond(untilMs: number, jobId: JobId): Promise<number>;
}

export interface JobRow {
  readonly leaseUntilMs: number;
  readonly generation: number;
  readonly attempt: number;
  /** Store time. */
  readonly nowMs: number;
}

/** A schema and a user of its own until the end of the test: by the user its connections are told from others. */
export async function faultWorld(): Promise<FaultWorld> {
  const world = await postgresWorld(18);
  onTestFinished(() => world.close());
  const user = `user_${world.schema}`;
  await world.query(`create role ${user} login superuser`);
  onTestFinished(async () => void (await world.query(`drop role ${user}`)));
  const own = new URL(world.url);
  own.username = user;

  const open = (connectionString: string, options: Partial<LeaseholdOptions> = {}): Leasehold => {
    const store = postgres({ connectionString, schema: world.schema });
    const leasehold = new Leasehold({ store, log: () => {}, ...options });
    onTestFinished(() => leasehold.close());
    return leasehold;
  };
  const row = async (jobId: JobId): Promise<JobRow> => {
    const [found] = await world.query(
      `select lease_until, generation, attempt, (extract(epoch from clock_timestamp()) * 1000)::bigint as now
         from ${world.schema}.record where job_id = $1`,
      [jobId],
    );
    return {
      leaseUntilMs: Number(found?.["lease_until"]),
      generation: Number(found?.["generation"]),
      attempt: Number(found?.["attempt"]),
      nowMs: Number(found?.["now"]),
    };
  };
  const holding = async (statement: string): Promise<{ release(): Promise<void> }> => {
    const session = await world.begin();
    await (session.tx as { query(text: string): Promise<unknown> }).query(statement);
    return { release: session.rollback };
  };
  const bystander = open(world.url);
  return {
    ...world,
    bystander,
    holding,
    holdingRow: (jobId) => holding(`select from ${world.schema}.job where job_id = '${jobId}' for update`),
    backends: new Backends(world.query, user),
    client: (url = own.href, options) => open(url, options),
    async proxy() {
      const proxy = await postgresProxy(own.href);
      onTestFinished(() => proxy.close());
      return proxy;
    },
    ended: (jobId) =>
      eventually("the job's end", async () => {
        const view = await bystander.get(jobId);
        return view !== undefined && view.state !== "ready" && view.state !== "leased" && view;
      }),
    row,
    renewedBeyond: (untilMs, jobId) =>
      eventually("a renewal", async () => {
        const { leaseUntilMs } = await row(jobId);
        return leaseUntilMs > untilMs && leaseUntilMs;
      }),
  };
}
