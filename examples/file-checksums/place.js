// Where this example keeps its jobs and its results, by the URL that it was given: the one place that knows one store
// from the other. The results stand beside the jobs, because `job.complete` writes both in one transaction.

import { resolve } from "node:path";
import { postgres } from "leasehold/postgres";
import { sqlite } from "leasehold/sqlite";

/**
 * @typedef {object} Place
 * @property {import("leasehold").Store} store
 * @property {string} table of the results
 * @property {string[]} setup what makes room for the table
 */

/**
 * @param {string} url
 * @returns {Place}
 */
export function placeAt(url) {
  return isPostgres(url)
    ? {
        store: postgres(url),
        table: "file_checksums.checksum",
        setup: ["create schema if not exists file_checksums"],
      }
    : { store: sqlite(url), table: "checksum", setup: [] };
}

/**
 * The same for a process that was started in another folder.
 *
 * @param {string} url
 */
export function absolute(url) {
  return isPostgres(url) ? url : resolve(url);
}

/** @param {string} url */
function isPostgres(url) {
  return /^postgres(ql)?:/.test(url);
}
