// Works on the jobs `step` of a store until it is killed: node orderly.js ADDRESS SCHEMA CONCURRENCY
// ADDRESS is a file, or the URL of a PostgreSQL server.

import { defineJob, Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";
import { sqlite } from "leasehold/sqlite";

// Jobs of the killed are suspects, of which a sweep finds few at a time: it comes often.
const SWEEP_MS = 10;

const [address = "", schema = "", concurrency = ""] = process.argv.slice(2);
const store = address.startsWith("postgres")
  ? postgres({ connectionString: address, schema, sweepMs: SWEEP_MS })
  : sqlite({ path: address, sweepMs: SWEEP_MS });
const leasehold = new Leasehold({ store, log: () => {} });
const step = defineJob({ name: "step", leaseMs: 10_000, maxAttempts: 1_000, run: () => {} });
const worker = leasehold.work([step], { concurrency: Number(concurrency) });
worker.on("completed", () => process.send?.({ what: "completed" }));
