/** The defaults on the page are those of the code: each is asked where it takes effect. */

import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { MAX_NAME_BYTES } from "../../src/client/names.ts";
import { manualWorld } from "../../src/clock/manual.ts";
import { DEFAULT_MAX_INPUT_BYTES, MAX_DEPTH } from "../../src/protocol/storable.ts";
import { MAX_LEASE_MS, MIN_LEASE_MS } from "../../src/protocol/trust.ts";
import { memory } from "../../src/stores/memory/index.ts";
import * as postgresDefaults from "../../src/stores/postgres/options.ts";
import { DEFAULT_SWEEP_MS } from "../../src/stores/sqlite/options.ts";
import { faultStore } from "../../src/testing/fault-store.ts";
import { jobsByName, workerSettings } from "../../src/worker/settings.ts";
import { page, tableRows, unquoted } from "./markdown.ts";

const text = page("docs/reference/options.md");
const job = defineJob({ name: "job", run() {} });

describe("the page of options has the defaults", () => {
  it("of a job", () => {
    const { leaseMs, maxAttempts, priority, queue, backoff } = job;
    expect(queue).toBe("job");
    expect(defaultsBelow("## A job: `defineJob({ … })`")).toMatchObject({
      leaseMs: String(leaseMs),
      maxAttempts: String(maxAttempts),
      priority: String(priority),
      "backoff.kind": backoff.kind,
      "backoff.baseMs": String(backoff.baseMs),
      "backoff.capMs": String(backoff.capMs),
      "backoff.jitter": backoff.jitter,
    });
  });

  it("of a client", async () => {
    const asked = new Map<string, readonly unknown[]>();
    const world = manualWorld();
    const store = faultStore(
      memory({ nowMs: world.clock.wallMs, timers: world.timers }),
      ({ method, args }) => {
        asked.set(method, args);
        return "none";
      },
    );
    const leasehold = new Leasehold({ store, world });
    const worker = leasehold.work([job], { renewer: "inline" });
    await world.advance(95_000); // the first pruning is within a minute and a half
    await worker.stop();
    await leasehold.close();
    expect(asked.get("prune")?.[0]).toEqual({
      completedMs: Number(client()["retentionMs.completedMs"]),
      failedMs: Number(client()["retentionMs.failedMs"]),
    });
    expect(asked.get("prune")?.[2]).toEqual({ timeoutMs: Number(client()["callTimeoutMs"]) });
    expect(client()["maxInputBytes"]).toBe(String(DEFAULT_MAX_INPUT_BYTES));
  });

  it("of a worker", () => {
    const { concurrency, graceMs, pollMs, renewer, maxBlockedMs, isolation } = workerSettings(
      jobsByName([job]),
      {},
      { callTimeoutMs: 1, maxResultBytes: 1 },
    );
    expect(defaultsBelow("## A worker: `work(jobs, { … })` and `drain(jobs, { … })`")).toMatchObject({
      concurrency: String(concurrency),
      graceMs: String(graceMs),
      pollMs: String(pollMs),
      "isolation.idleMs": String(isolation.idleMs),
      renewer,
      maxBlockedMs: String(maxBlockedMs),
    });
  });

  it("of a named lease", async () => {
    let asked: unknown;
    const store = faultStore(memory(), ({ method, args }) => {
      if (method === "acquire") asked = args[0];
      return "none";
    });
    const leasehold = new Leasehold({ store });
    await leasehold.withLease("nightly", {}, () => {});
    await leasehold.close();
    const { leaseMs, waitMs } = defaultsBelow("## A named lease: `withLease(name, { … }, fn)`");
    expect(asked).toMatchObject({ leaseMs: Number(leaseMs) });
    expect(waitMs).toBe("0");
  });

  it("of the SQLite store", () => {
    const stores = tableRows(page("docs/reference/stores.md"), "## SQLite", "option");
    const sweepMs = stores.find(({ option }) => option === "`sweepMs`");
    expect(sweepMs?.["default"]).toBe(String(DEFAULT_SWEEP_MS));
  });

  it("of the PostgreSQL store", () => {
    const options = tableRows(page("docs/reference/stores.md"), "## PostgreSQL", "option");
    const defaultOf = (name: string) => options.find(({ option }) => option === `\`${name}\``)?.["default"];
    expect(defaultOf("sweepMs")).toBe(String(postgresDefaults.DEFAULT_SWEEP_MS));
    expect(defaultOf("schema")).toBe(postgresDefaults.DEFAULT_SCHEMA);
    expect(defaultOf("maxConnections")).toBe(String(postgresDefaults.DEFAULT_MAX_CONNECTIONS));
  });

  it("and the limits", () => {
    expect(text).toContain(`| \`leaseMs\` | 30000 | ${MIN_LEASE_MS} to ${MAX_LEASE_MS / 86_400_000} days |`);
    expect(text).toContain(`1 to ${MAX_NAME_BYTES} bytes`);
    expect(text).toContain(`at most ${MAX_DEPTH} levels deep, and ${DEFAULT_MAX_INPUT_BYTES} bytes`);
  });
});

function client(): Record<string, string> {
  return defaultsBelow("## The client: `new Leasehold({ … })`");
}

function defaultsBelow(heading: string): Record<string, string> {
  return Object.fromEntries(
    tableRows(text, heading, "option").flatMap((row) =>
      unquoted(row["option"] ?? "")
        .split(", ")
        .map((name) => [name, row["default"] ?? ""]),
    ),
  );
}
