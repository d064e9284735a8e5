import type { SourceMutant } from "./source-mutant.ts";

const FENCE = "src/stores/sqlite/sql/fence.sql";
const CLAIM = "src/stores/sqlite/sql/claim.sql";

/** The statements of the SQLite store. The worker's clock is the store's there (T1), so no mutant confuses the two. */
export const SQLITE_MUTANTS: readonly SourceMutant[] = [
  {
    name: "owner compared without the generation, in SQLite",
    file: FENCE,
    edits: [
      { find: "   and j.generation = e.value ->> 2\n", replace: "" },
      { find: "   and j.generation = e.value\n", replace: "" },
    ],
    tiers: ["conformance"],
  },
  {
    // The rows cannot tell who has ended a run: that what the caller was told belongs to them, I13 asks.
    name: "renewal and completion by id only, in SQLite",
    file: FENCE,
    edits: [
      {
        find: " where j.owner = e.value ->> 1\n   and j.generation = e.value ->> 2\n",
        replace: " where j.owner is not null\n",
      },
      {
        find: " where j.owner = :owner\n   and j.generation = e.value\n",
        replace: " where j.owner is not null and :owner is not null\n",
      },
    ],
    tiers: ["conformance", "processes"],
    chaos: { plan: "sqlite", breaks: ["I5", "I13"] },
  },
  {
    name: "a settle at or below epoch x 2^32, in SQLite",
    file: FENCE,
    edits: [
      {
        find: "   and j.generation > :epoch_start\n   and j.phase in (1, 2, 3)\n   and (",
        replace: "   and j.phase in (1, 2, 3)\n   and (",
      },
      {
        find: "   and j.generation > :epoch_start\n   and j.phase in (1, 2, 3)\n   and j.resource is null\n",
        replace: "   and j.phase in (1, 2, 3)\n   and j.resource is null\n   and :epoch_start is not null\n",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "generation not stepped on re-claim, in SQLite",
    file: CLAIM,
    edits: [
      {
        find: "generation = max(generation, :floor) + 1,",
        replace: "generation = iif(owner is null, max(generation, :floor) + 1, generation),",
      },
    ],
    tiers: ["conformance", "processes"],
    chaos: { plan: "sqlite", breaks: ["I1", "I2"] },
  },
  {
    name: "claim without the expiry condition, in SQLite",
    file: CLAIM,
    edits: [
      {
        find: "(:takeover and lease_until <= :now)",
        replace: "(:takeover and lease_until <= :now + lease_ms)",
      },
      {
        file: "src/stores/sqlite/sql/sweep.sql",
        find: "where phase = 2 and lease_until <= :now and attempt < max_attempts",
        replace: "where phase = 2 and lease_until <= :now + lease_ms and attempt < max_attempts",
      },
      {
        file: "src/stores/sqlite/sql/sweep.sql",
        find: "and (lease_until <= cast(round(unixepoch('subsec') * 1000) as integer)\n",
        replace: "and (lease_until > 0\n",
      },
      {
        // The statement finds candidates, and the core decides on each.
        file: "src/protocol/claim.ts",
        find: 'if (job.state !== "leased" || !isExpired(job, nowMs)) return "none";',
        replace: 'if (job.state !== "leased" || !isExpired(job, nowMs + job.leaseMs)) return "none";',
      },
    ],
    tiers: ["conformance", "processes"],
    chaos: { plan: "sqlite", breaks: ["I3"] },
  },
  {
    // A sweep lays lapsed leases open; what has been renewed since stays where it was put.
    name: "reclaim by id only, in SQLite",
    file: CLAIM,
    edits: [
      { find: "(:takeover and lease_until <= :now)", replace: "(:takeover and :now > 0)" },
      {
        file: "src/stores/sqlite/sql/renew.sql",
        find: "   set phase = 2,\n       lease_until = ",
        replace: "   set lease_until = ",
      },
      {
        file: "src/protocol/claim.ts",
        find: 'if (job.state !== "leased" || !isExpired(job, nowMs)) return "none";',
        replace:
          'if (job.state !== "leased" || !isExpired(job, Number.MAX_SAFE_INTEGER + nowMs)) return "none";',
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "a crash is not counted as an attempt, in SQLite",
    file: CLAIM,
    edits: [{ find: "attempt = attempt + 1,", replace: "attempt = attempt + (owner is null)," }],
    tiers: ["conformance", "processes"],
    chaos: { plan: "sqlite", breaks: ["I13", "I15"] },
  },
];
