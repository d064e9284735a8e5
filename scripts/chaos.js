// `npm run chaos -- --plan NAME --seconds 20 --seed 7 [--keep DIR]`: one run of real processes under real faults. Exit code
// 0: everything held; 1: something did not; 2: void, too few faults were seen; 3: the harness itself failed.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startVitest } from "vitest/node";

const HARNESS_ERROR = 3;
const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    plan: { type: "string", default: "sqlite" },
    seconds: { type: "string", default: "20" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    keep: { type: "string" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "leasehold-chaos-report-"));
const report = join(folder, "report.json");
const { plan, seconds, seed, keep } = values;
const asked = {
  plan,
  seconds: Number(seconds),
  seed: Number(seed),
  report,
  ...(keep === undefined ? {} : { keep: resolve(keep) }),
};
process.env["LEASEHOLD_CHAOS"] = JSON.stringify(asked);
process.env["SEED"] = seed;

const file = "test/faults/chaos/long.ts";
const vitest = await startVitest(
  "test",
  [file],
  { config: false, watch: false, root, reporters: ["dot"], silent: true },
  { test: { include: [file], pool: "forks", globalSetup: ["test/support/global-setup.ts"] } },
);
await vitest.close();
if (existsSync(report)) {
  const { text, exitCode } = JSON.parse(readFileSync(report, "utf8"));
  process.stdout.write(text);
  process.exitCode = exitCode;
} else {
  console.log(`HARNESS ERROR   replay: npm run chaos -- --plan ${plan} --seconds ${seconds} --seed ${seed}`);
  process.exitCode = HARNESS_ERROR;
}
rmSync(folder, { recursive: true, force: true });
