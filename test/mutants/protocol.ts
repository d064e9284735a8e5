import type { SourceMutant } from "./source-mutant.ts";

/** Rules of the protocol core, which all stores go by in part or in whole. */
export const PROTOCOL_MUTANTS: readonly SourceMutant[] = [
  {
    name: "owner compared without the generation, in the core",
    file: "src/protocol/outcome.ts",
    edits: [
      {
        find: "    job.generation === fence.generation &&\n    job.generation > epochStart",
        replace: "    job.generation > epochStart",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "renewal and completion by id only, in the core",
    file: "src/protocol/outcome.ts",
    edits: [
      {
        find: "    job.owner === fence.owner &&\n    job.generation === fence.generation &&\n    job.generation > epochStart",
        replace: "    job.generation > epochStart",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "token without epoch, in the core",
    file: "src/protocol/floor.ts",
    edits: [
      {
        find: "  return generation(Math.max(state.epoch * EPOCH_SIZE, state.deletedGeneration));",
        replace: "  return generation(state.deletedGeneration);",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "int4 generation, in the core",
    file: "src/protocol/floor.ts",
    edits: [
      {
        find: "return generation(Math.max(current, floor) + 1);",
        replace: "return generation((Math.max(current, floor) + 1) % EPOCH_SIZE);",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a settle at or below epoch x 2^32",
    file: "src/protocol/outcome.ts",
    edits: [{ find: "    job.generation > epochStart &&\n", replace: "" }],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a resource's lease is not asked for",
    file: "src/protocol/outcome.ts",
    edits: [{ find: "    holdsResource(job, lease)\n", replace: "    (lease === undefined || true)\n" }],
    // Only another job of the resource shows it, between a lapse and a late renewal: too rare for the simulation.
    tiers: ["conformance"],
  },
  {
    name: "generation not stepped on re-claim, in the core",
    file: "src/protocol/claim.ts",
    edits: [
      {
        find: '    generation: raised(job.generation, floor),\n    raisedBy: "claim" as const,',
        replace:
          '    generation: lapsed ? job.generation : raised(job.generation, floor),\n    raisedBy: "claim" as const,',
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "claim without the expiry condition, in the core",
    file: "src/protocol/claim.ts",
    edits: [
      {
        find: 'if (job.state !== "leased" || !isExpired(job, nowMs)) return "none";',
        replace: 'if (job.state !== "leased" || !isExpired(job, nowMs + job.leaseMs)) return "none";',
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a crash is not counted as an attempt, in the core",
    file: "src/protocol/claim.ts",
    edits: [{ find: "attempt: job.attempt + 1,", replace: "attempt: job.attempt + (lapsed ? 0 : 1)," }],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a claim takes blocked jobs",
    file: "src/protocol/claim.ts",
    edits: [{ find: 'job.state === "ready" && job.blockedBy === 0 &&', replace: 'job.state === "ready" &&' }],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a claim takes jobs before they are due",
    file: "src/protocol/claim.ts",
    edits: [
      {
        find: "(job.runAtMs === null || job.runAtMs <= nowMs)",
        replace: "(job.runAtMs === null || nowMs > 0)",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a released job keeps its cancel to itself",
    file: "src/protocol/settle.ts",
    edits: [
      {
        find: 'if (job.cancelRequested) return { state: "cancelled", endReason: "cancelled" };',
        replace: "",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a release gives two attempts back",
    file: "src/protocol/settle.ts",
    edits: [
      { find: "attempt: Math.max(0, job.attempt - 1)", replace: "attempt: Math.max(0, job.attempt - 2)" },
    ],
    tiers: ["conformance"],
  },
  {
    name: "a renewal shortens the lease when the store's clock was set back a little",
    file: "src/protocol/job.ts",
    edits: [
      {
        find: "return startsInFuture(lease, nowMs) ? until : Math.max(until, lease.leaseUntilMs ?? until);",
        replace: "return until;",
      },
    ],
    tiers: ["simulation", "conformance"],
  },
  {
    name: "a repeated enqueue is not recognised",
    file: "src/stores/memory/enqueuing.ts",
    edits: [
      {
        find: "if (known !== undefined) {",
        replace: "if (known !== undefined && known.jobId === undefined) {",
      },
    ],
    tiers: ["simulation"],
  },
  {
    name: "a slot that is on time is passed over when another one is as well",
    file: "src/protocol/slots.ts",
    edits: [
      {
        find: "for (; slot !== null && slot <= nowMs; slot = nextOpen(covered, slot, calendar)) slots.push(slot);",
        replace:
          "for (; slot !== null && slot <= nowMs; slot = nextOpen(covered, slot, calendar)) slots[0] = slot;",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/schedules.test.ts"] },
  },
];
