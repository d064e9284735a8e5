// BullMQ on its PostgreSQL backend, as it comes.

import { createPostgresBackend, runMigrations } from "bullmq";
import pg from "pg";
import { openOn } from "./bullmq.js";
import { versions } from "./versions.js";

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "bullmq on PostgreSQL",
    version: versions.bullmq,
    settings: "defaults but for the concurrency, which would be 1",
    on: "postgres",
    takesPart: ["enqueue", "drain", "wake-up"],
    doors: ["bulk", "results", "lasting"],
    jobsToDrain: { default: 10_000 },
    atOnce: true,
    unfinished: "select from {schema}.job where state not in ('completed', 'failed')",
    async open({ address: connectionString, schema }) {
      const client = new pg.Client({ connectionString });
      await client.connect();
      await runMigrations(client, schema).finally(() => client.end());
      return openOn({ connection: { connectionString, schema } }, createPostgresBackend);
    },
  },
];
