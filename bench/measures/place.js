import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Not the system's temporary folder: that may be memory, where waiting for the disk costs nothing.
const folder = fileURLToPath(new URL("../results/tmp/", import.meta.url));

let schemas = 0;

/** A folder of its own on the disk. @param {string} name */
export function freshFolder(name) {
  mkdirSync(folder, { recursive: true });
  return mkdtempSync(`${folder}${name}-`);
}

/**
 * Calls `fn` with a place that holds nothing yet: a file in a folder of its own, or a schema of its own on the server.
 *
 * @template T
 * @param {import("../cases.js").Setting} setting
 * @param {(place: import("../systems/system.js").Place) => Promise<T>} fn
 */
export async function inFreshPlace({ database, mode, server }, fn) {
  if (database === "postgres") {
    const schema = `bench_${process.pid}_${++schemas}`;
    try {
      return await fn({ address: server.address, schema, mode });
    } finally {
      await server.drop(schema);
    }
  }
  const own = freshFolder("run");
  try {
    return await fn({ address: `${own}/jobs.db`, schema: "", mode });
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
