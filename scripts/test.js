// `npm test`: the check, then vitest with the given arguments, then what was not run, and one closing line.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { check } from "./check.js";
import { conformanceTables } from "./conformance-table.js";

const root = fileURLToPath(new URL("..", import.meta.url));

const steps = await check();
const built = steps.some(({ name, ok }) => name === "build" && ok);
const tests = built ? vitest(process.argv.slice(2)) : undefined;

for (const line of conformanceTables(tests?.conformance ?? [])) console.log(line);
for (const part of tests?.notRun ?? []) console.log(`not run: ${part}`);
if (tests === undefined) console.log("no test was run: there is nothing to test without a build.");
else if (tests.passed === 0) console.log("no test was run to its end and passed.");

const passed = steps.filter(({ ok }) => ok).length + (tests?.passed ?? 0);
const failed = steps.filter(({ ok }) => !ok).length + (tests?.failed ?? 0);
console.log(`${passed} passed, ${failed} failed, ${tests?.skipped ?? 0} skipped`);
process.exitCode = failed === 0 && tests !== undefined && tests.passed > 0 ? 0 : 1;

/**
 * @param {string[]} args
 * @returns {import("./tally-reporter.js").Tally}
 */
function vitest(args) {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-tally-"));
  const tallyFile = join(folder, "tally.json");
  const vitestMain = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", `--reporter=${join(root, "scripts", "tally-reporter.js")}`];
  try {
    const { status } = spawnSync(process.execPath, [vitestMain, "run", ...reporters, ...args], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, LEASEHOLD_TALLY: tallyFile, LEASEHOLD_BUILT: "1" },
    });
    const tally = existsSync(tallyFile)
      ? JSON.parse(readFileSync(tallyFile, "utf8"))
      : { passed: 0, failed: 0, skipped: 0, notRun: [], conformance: [] };
    if (status !== 0 && tally.failed === 0) tally.failed = 1; // vitest itself failed, and has said why
    return tally;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
