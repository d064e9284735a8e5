// The jobs of this example. What they write lands in the store's own database, in the transaction that completes the job:
// `job.complete` commits both or neither, and only for the job's current owner.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { defineJob, StaleLeaseError } from "leasehold";

/** Short, so that a frozen worker's jobs are soon taken over. Real jobs rather have the default of 30 seconds. */
export const LEASE_MS = 5_000;

/**
 * Makes the results table. It has no unique constraint, on purpose: a second row for one file would be seen.
 *
 * @param {import("./place.js").Place} place
 */
export function beginJob({ table, setup }) {
  return defineJob({
    name: "begin-scan",
    /** @param {import("leasehold").RunContext<{ folder: string }>} context */
    async run({ job }) {
      await job.complete(async (tx) => {
        for (const statement of setup) await tx.query(statement);
        await tx.query(`create table if not exists ${table} (
          scan text not null, path text not null, sha256 text not null, lines bigint not null, bytes bigint not null,
          generation bigint not null)`);
      });
    },
  });
}

/**
 * The job that does the work, for one file each. Every scan has a queue of its own, so that its counts are its own.
 *
 * @param {import("./place.js").Place} place
 * @param {string} scan
 * @param {(jobId: string) => Promise<void>} [beforeWriting] where this example freezes a worker
 * @param {(path: string, refused: StaleLeaseError) => void} [onRefused]
 */
export function checksumJob({ table }, scan, beforeWriting, onRefused) {
  return defineJob({
    name: "file-checksum",
    queue: `checksum-${scan}`,
    leaseMs: LEASE_MS,
    /** @param {import("leasehold").RunContext<{ path: string }>} context */
    async run({ input: { path }, job, lease, signal }) {
      const { sha256, lines, bytes } = await digest(path, signal);
      await beforeWriting?.(job.id);
      try {
        await job.complete(async (tx) => {
          await tx.query(
            `insert into ${table} (scan, path, sha256, lines, bytes, generation) values ($1, $2, $3, $4, $5, $6)`,
            [scan, path, sha256, lines, bytes, lease.token.generation],
          );
        });
      } catch (error) {
        // Another worker has the job by now; the row above was rolled back.
        if (error instanceof StaleLeaseError) onRefused?.(path, error);
        throw error;
      }
    },
  });
}

/**
 * Reads what the scan has written.
 *
 * @typedef {object} Written
 * @property {number} rows
 * @property {number} files distinct ones
 * @property {number} bytes
 * @property {number} lines
 * @property {string[]} twice files with more than one row, the first few
 *
 * @param {import("./place.js").Place} place
 */
export function endJob({ table }) {
  return defineJob({
    name: "end-scan",
    /** @param {import("leasehold").RunContext<{ scan: string }>} context */
    run({ input, job }) {
      return job.complete(async (tx) => {
        const totals = await tx.query(
          `select count(*) as "rows", count(distinct path) as files, coalesce(sum(bytes), 0) as bytes,
                  coalesce(sum(lines), 0) as lines from ${table} where scan = $1`,
          [input.scan],
        );
        const twice = await tx.query(
          `select path from ${table} where scan = $1 group by path having count(*) > 1 limit 5`,
          [input.scan],
        );
        // PostgreSQL's driver hands big integers over as texts.
        const numbers = Object.entries(totals.rows[0] ?? {}).map(([name, value]) => [name, Number(value)]);
        return { ...Object.fromEntries(numbers), twice: twice.rows.map(({ path }) => path) };
      });
    },
  });
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function digest(path, signal) {
  const hash = createHash("sha256");
  let bytes = 0;
  let lines = 0;
  for await (const chunk of createReadStream(path, { signal })) {
    hash.update(chunk);
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines += 1;
  }
  return { sha256: hash.digest("hex"), lines, bytes };
}
