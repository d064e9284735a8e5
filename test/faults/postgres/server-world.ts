import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold, type LeaseholdOptions } from "../../../src/client/leasehold.ts";
import { postgres } from "../../../src/stores/postgres/index.ts";
import type { Store } from "../../../src/stores/store.ts";
import { type Audited, audit, type Query, startAudit } from "../../support/audit.ts";
import { Child, type ChildOptions } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import type { OwnServer } from "../../support/own-server.ts";

/** What the worker processes run: the input says for how many ms. */
export const job = defineJob({ name: "job", run: (_: { readonly input: number }) => {} });

export function leaseholdOn(server: OwnServer, options: Partial<LeaseholdOptions> = {}): Leasehold {
  const store = postgres({ connectionString: server.url });
  const leasehold = new Leasehold({ store, log: () => {}, ...options });
  onTestFinished(() => leasehold.close());
  return leasehold;
}

export function storeOn(server: OwnServer, application = "test"): Store {
  const store = postgres({ connectionString: `${server.url}?application_name=${application}` });
  onTestFinished(() => store.close());
  return store;
}

/** The store's tables are there from now on, and every change of a job is recorded. */
export async function audited(server: OwnServer): Promise<Query> {
  await leaseholdOn(server).open();
  const query: Query = (text, params) => server.query(text, params);
  await startAudit(query);
  return query;
}

/** Resolves when so many jobs have ended, or when something was found broken. */
export function allEnded(query: Query, jobs: number): Promise<Audited> {
  return eventually("all jobs have ended", async () => {
    const found = await audit(query);
    return (found.broken.length > 0 || found.ends.size >= jobs) && found;
  });
}

/** A process of `processes/worker.js`. */
export function startWorker(
  url: string,
  leaseMs: number,
  concurrency: number,
  options?: ChildOptions,
): Child {
  const file = fileURLToPath(new URL("./processes/worker.js", import.meta.url));
  const child = new Child(file, [url, leaseMs, concurrency], options);
  onTestFinished(() => child.kill());
  return child;
}

/** Lets a worker process stop in order, and resolves to its counts. */
export async function stopped(child: Child): Promise<unknown> {
  child.process.send("stop");
  const counts = await child.tells("counts");
  await child.exited;
  return counts;
}
