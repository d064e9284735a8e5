// Writes the generations 1 to 100 to one line in an order of its own, and tells which of them landed.

import { sqliteGuard } from "../../dist/destinations/sqlite/index.js";
import { openDatabase } from "../../dist/stores/sqlite/index.js";

const [path = "", seed = "1"] = process.argv.slice(2);
const guard = sqliteGuard(await openDatabase(path));
process.send?.({ what: "ready" });
await new Promise((resolve) => process.once("message", resolve));

/** @type {number[]} */
const landed = [];
for (let i = 1; i <= 100; i++) {
  const generation = (i * (2 * Number(seed) + 1)) % 101; // 101 is prime: each of them once
  const token = { line: "lease:race", generation, owner: `owner ${generation}` };
  const lease = { token: /** @type {never} */ (token), effectScope: null };
  try {
    await guard.write(lease, {}, (tx) => tx.query("insert into effect (value) values ($1)", [generation]));
    landed.push(generation);
  } catch (error) {
    if (/** @type {{ code?: string }} */ (error).code !== "LH_STALE_TOKEN") throw error;
  }
}
process.send?.({ what: "landed", detail: landed });
process.disconnect?.();
