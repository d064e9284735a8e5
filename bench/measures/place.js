import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Not the system's temporary folder: that may be memory, where waiting for the disk costs nothing.
const folder = fileURLToPath(new URL("../results/tmp/", import.meta.url));

/**
 * Calls `fn` with the path of a database that is not there yet, in a folder of its own that goes afterwards.
 *
 * @template T
 * @param {(path: string) => Promise<T>} fn
 */
export async function inFreshPlace(fn) {
  mkdirSync(folder, { recursive: true });
  const own = mkdtempSync(`${folder}run-`);
  try {
    return await fn(`${own}/jobs.db`);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
