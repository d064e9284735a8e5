// With its defaults. The concurrency is the case's; the default one is 10.

import { postgres } from "../../dist/stores/postgres/index.js";
import { openOn, version } from "./leasehold.js";

/** Of version 7 as the product's are, one moment for all. */
const given = {
  job_id: "(left(s.job_id::text, 14) || '7000-8000-' || lpad(to_hex(g.n), 12, '0'))::uuid",
  input: `replace(s.input, '"n":0,', '"n":' || g.n || ',')`,
  created_at: "s.created_at",
};

/** @param {import("./system.js").Place} place */
const store = ({ address, schema }) => postgres({ connectionString: address, schema });

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "leasehold on PostgreSQL",
    version,
    on: "postgres",
    takesPart: ["enqueue", "drain", "wake-up"],
    doors: ["bulk", "tx", "results", "seen", "lasting"],
    jobsToDrain: { default: 100_000 },
    atOnce: true,
    isFastest: true,
    unfinished: "select from {schema}.job",
    row: {
      table: "{schema}.job",
      waiting: "select from {schema}.job where ready and owner is null",
      given,
      history: {
        table: "{schema}.history",
        given: { ...given, seq: "-g.n", finished_at: "s.finished_at" },
      },
    },
    store,
    open: (place) => openOn(store(place), place),
  },
];
