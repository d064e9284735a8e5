// A file of 1 kB replaced as a whole and durably: written beside it, synced, moved to its place, and the folder synced.
// Unguarded: just that. The kit syncs the marks and their folders too, and takes one write after the other.

import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { file } from "../../../dist/destinations/file/index.js";
import { inFreshPlace } from "../place.js";
import { inTurns, knownLeases } from "./ways.js";

const CONTENT = "x".repeat(1_000);

/** @param {import("../../cases.js").Setting} setting @param {{ inFlight: number, forMs: number }} how */
export function guardedFile(setting, how) {
  return inFreshPlace({ ...setting, database: "sqlite" }, async ({ address }) => {
    const path = `${address}.report`;
    const guarded = file(`${address}.guarded`);
    const [lease] = knownLeases(1);
    return inTurns(
      {
        async unguarded() {
          await written(`${path}.new`);
          await rename(`${path}.new`, path);
          const folder = await open(dirname(path));
          await folder.sync();
          await folder.close();
        },
        guarded: () => guarded.write(lease, CONTENT),
      },
      how,
    );
  });
}

/** @param {string} path */
async function written(path) {
  const handle = await open(path, "w");
  await handle.writeFile(CONTENT);
  await handle.sync();
  await handle.close();
}
