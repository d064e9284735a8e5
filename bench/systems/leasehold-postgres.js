import { postgres } from "../../dist/stores/postgres/index.js";
import { openOn, version } from "./leasehold.js";

/** @type {import("./system.js").System} */
export const leaseholdOnPostgres = {
  name: "leasehold on PostgreSQL",
  version,
  jobsToDrain: { default: 100_000 },
  jobsToEnqueue: { default: 2_000 },
  variants: [{ name: "" }],
  atOnce: true,
  unfinished: "select from {schema}.job",
  open: ({ address, schema }) => openOn(postgres({ connectionString: address, schema })),
};
