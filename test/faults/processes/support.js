// What the processes of these tests share. They run from dist/, as a user's would: `leasehold` is this package.

import { Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";
import { sqlite } from "leasehold/sqlite";

/** The database file, or the address of the server, that the test gave. */
export const address = String(process.argv[2]);

/** What the test gave after it, as JSON. */
export const given = JSON.parse(process.argv[3] ?? "{}");

/**
 * @param {{ trace?: (name: string) => void }} [options]
 */
export function openStore(options = {}) {
  return address.startsWith("postgres")
    ? postgres({ connectionString: address, ...options })
    : sqlite({ path: address, ...options });
}

/**
 * @param {{ trace?: (name: string) => void }} [options]
 */
export function openLeasehold(options) {
  return new Leasehold({ store: openStore(options), callTimeoutMs: 20_000, log: () => {} });
}

/**
 * Tells the test.
 *
 * @param {string} what
 * @param {unknown} [detail]
 */
export function tell(what, detail) {
  process.send?.({ what, detail });
}

/**
 * Tells every event of a run, and when the worker is idle.
 *
 * @param {import("leasehold").Worker} worker
 */
export function tellAll(worker) {
  worker
    .on("started", ({ job, previous }) => tell("started", { id: job.id, token: job.token, previous }))
    .on("completed", ({ job }) => tell("completed", job.id))
    .on("released", ({ job, why }) => tell("released", { id: job.id, why }))
    .on("aborted", ({ job, reason }) => tell("aborted", { id: job.id, reason }))
    .on("lost", ({ job, refusal }) => tell("lost", { id: job.id, refusal }))
    .on("stuck", ({ job }) => tell("stuck", job.id))
    .on("idle", ({ nextDueInMs }) => tell("idle", nextDueInMs))
    .on("scheduled", ({ schedule, slotMs }) => tell("scheduled", { schedule, slotMs }))
    .on("error", ({ error, during }) => tell("error", `${during}: ${error}`));
}

// The test is gone.
process.on("disconnect", () => process.exit());
