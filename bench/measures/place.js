import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Not the system's temporary folder: that may be memory, where waiting for the disk costs nothing.
const folder = fileURLToPath(new URL("../results/tmp/", import.meta.url));

const folders = new Set();
process.once("exit", () => folders.forEach(removed));

let schemas = 0;

/** A folder of its own on the disk, gone at the latest with this process. @param {string} name */
export function freshFolder(name) {
  mkdirSync(folder, { recursive: true });
  const fresh = mkdtempSync(`${folder}${name}-`);
  folders.add(fresh);
  return fresh;
}

/** @param {string} own */
export function removed(own) {
  rmSync(own, { recursive: true, force: true });
  folders.delete(own);
}

/**
 * Calls `fn` with a place that holds nothing yet: a file in a folder of its own; or on servers a schema of its own in
 * PostgreSQL, of which the name is also the prefix of all keys in an empty Redis.
 *
 * @template T
 * @param {import("../cases.js").Setting} setting
 * @param {(place: import("../systems/system.js").Place) => Promise<T>} fn
 */
export async function inFreshPlace({ database, mode, server, redis }, fn) {
  if (database === "sqlite") {
    const own = freshFolder("run");
    try {
      return await fn({ address: `${own}/jobs.db`, schema: "", mode });
    } finally {
      removed(own);
    }
  }
  const schema = `bench_${process.pid}_${++schemas}`;
  try {
    return await fn({ address: server?.address ?? "", redis: redis?.address, schema, mode });
  } finally {
    await server?.drop(schema);
    await redis?.empty();
  }
}
