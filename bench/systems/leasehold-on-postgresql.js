// With its defaults. The concurrency is the case's; the default one is 10.

import { postgres } from "../../dist/stores/postgres/index.js";
import { openOn, version } from "./leasehold.js";

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "leasehold on PostgreSQL",
    version,
    on: "postgres",
    takesPart: ["enqueue", "drain", "wake-up"],
    doors: ["bulk", "tx", "results", "seen"],
    jobsToDrain: { default: 100_000 },
    atOnce: true,
    unfinished: "select from {schema}.job",
    open: ({ address, schema, watched }) =>
      openOn(postgres({ connectionString: address, schema }), { watched }),
  },
];
