import { sqlite } from "../../dist/stores/sqlite/index.js";
import { openOn, version } from "./leasehold.js";

/** @type {import("./system.js").System} */
export const leaseholdOnSqlite = {
  name: "leasehold on SQLite",
  version,
  jobsToDrain: { full: 40_000, normal: 60_000 },
  jobsToEnqueue: { full: 1_000, normal: 3_000 },
  variants: [{ name: "" }],
  atOnce: true,
  open: ({ address, mode }) => openOn(sqlite({ path: address, synchronous: mode })),
};
