// How each kind of test is asked about a mutant, and what it says.

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { difference, search } from "../model.js";
import { ROOT, run } from "./copy.js";

/** @typedef {import("../../test/mutants/source-mutant.ts").SourceMutant} SourceMutant */
/** @typedef {import("../../test/mutants/source-mutant.ts").Chaos} Chaos */
/** @typedef {import("../model.js").Variant} Variant */
/**
 * `by`: what has found it out. `why`: what the test said. `test`: in which file of tests, when it was one. `isEarlier`: in a run before this one.
 *
 * @typedef {{ isKilled: boolean, by: string, why?: string, seconds: number, test?: { file: string, name: string }, isEarlier?: boolean }} Answer
 */

/** How many worlds of the simulation a mutant may survive. */
const MOST_WORLDS = 300;
/** A world of a mutant may have no end at all. */
const LONGEST_HUNT_MS = 120_000;
const LONGEST_TESTS_MS = 600_000;
/** A run under faults is repeated with other seeds so often: it draws where the faults fall. */
const RUNS = 3;
const RUN_SECONDS = 15;
/** What the server or the driver says of a statement that is none: no test has judged it then. */
const NO_STATEMENT =
  /syntax error|no such column|does not exist|named parameter|determine data type|ReferenceError|SyntaxError|TypeError/;

/**
 * @param {Variant} variant
 * @returns {Promise<Answer>}
 */
export async function askModel(variant) {
  const startedAtMs = performance.now();
  const { outcome } = await search(variant);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const wrong = difference(outcome, variant.expected);
  return { isKilled: wrong === undefined, by: wrong ?? `${variant.name}: ${outcome.breaks}`, seconds };
}

/**
 * @param {string} program the simulation's hunt, bundled
 * @param {string} [switched] a mutant of test/simulation/mutants.ts
 * @returns {Promise<Answer>}
 */
export async function askSimulation(program, switched) {
  const args = [program, "1", String(MOST_WORLDS), ...(switched === undefined ? [] : [switched])];
  const { code, told, seconds, isLate } = await run(args, ROOT, { longestMs: LONGEST_HUNT_MS });
  if (code === 0) return { isKilled: false, by: `survived ${MOST_WORLDS} worlds`, seconds };
  if (isLate) return { isKilled: true, by: "a world without an end", seconds };
  const line = told.split("\n").find((one) => one.startsWith("{"));
  if (line === undefined) return { isKilled: false, by: `the hunt failed: ${firstLine(told)}`, seconds };
  const { seed, broken } = JSON.parse(line);
  return { isKilled: true, by: `world ${seed}: ${firstLine(String(broken))}`, seconds };
}

/**
 * @param {string} folder a copy of the project
 * @param {readonly string[]} files
 * @returns {Promise<Answer>}
 */
export async function askTests(folder, files) {
  const { failed, passed, told, seconds, isLate } = await testsIn(folder, files, ["--bail=1"]);
  const [first] = failed;
  if (first !== undefined) {
    const test = { file: first.file, name: first.name };
    if (NO_STATEMENT.test(first.message))
      return { isKilled: false, by: `not judged: ${firstLine(first.message)}`, seconds };
    return { isKilled: true, by: first.title, why: firstLine(first.message), seconds, test };
  }
  if (isLate) return { isKilled: false, by: `no end after ${seconds.toFixed(0)} s`, seconds };
  if (passed === undefined) return { isKilled: false, by: `not judged: ${firstLine(told)}`, seconds };
  return { isKilled: false, by: `survived ${passed} tests`, seconds };
}

/**
 * What vitest says of some files of a copy.
 *
 * @param {string} folder
 * @param {readonly string[]} files
 * @param {readonly string[]} args
 */
export async function testsIn(folder, files, args) {
  const place = mkdtempSync(join(tmpdir(), "leasehold-mutant-"));
  chmodSync(place, 0o711); // as root, the servers in it are another user's
  const report = join(place, "report.json");
  const vitest = [join("node_modules", "vitest", "vitest.mjs"), "run", ...files, ...args];
  const ran = await run([...vitest, "--reporter=json", `--outputFile=${report}`], folder, {
    longestMs: LONGEST_TESTS_MS,
    env: { LEASEHOLD_BUILT: "1", SEED: "1", TMPDIR: place },
  });
  /** @type {{ testResults: { name: string, assertionResults: { status: string, title: string, fullName: string, failureMessages: string[] }[] }[] } | undefined} */
  const said = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : undefined;
  rmSync(place, { recursive: true, force: true });
  const tests = (said?.testResults ?? []).flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ status, title, fullName: name, failureMessages: [message = ""] }) => ({
      file: file.slice(folder.length + 1),
      status,
      title,
      name,
      message,
    })),
  );
  const passed = tests.filter(({ status }) => status === "passed");
  return {
    ...ran,
    failed: tests.filter(({ status }) => status === "failed"),
    passed: passed.length === 0 ? undefined : passed.length,
    names: passed.map(({ name }) => name),
  };
}

/**
 * @param {string} folder a copy of the project
 * @param {Chaos} chaos
 * @param {number} [runs]
 * @returns {Promise<Answer>}
 */
export async function askProcesses(folder, { plan, breaks }, runs = RUNS) {
  let seconds = 0;
  /** @type {string[]} */
  const seen = [];
  for (let seed = 1; seed <= runs; seed++) {
    const kept = join(folder, `chaos-${seed}`);
    const asked = ["--plan", plan, "--seconds", String(RUN_SECONDS), "--seed", String(seed), "--keep", kept];
    const ran = await run(["scripts/chaos.js", ...asked], folder, { env: { LEASEHOLD_BUILT: "1" } });
    rmSync(kept, { recursive: true, force: true });
    seconds += ran.seconds;
    const broken = [...ran.told.matchAll(/^BROKEN +(I\d+) /gm)].map(([, invariant = ""]) => invariant);
    const expected = broken.filter((invariant) => breaks.includes(invariant));
    const which = `${plan}, run ${seed}`;
    if (expected.length > 0) return { isKilled: true, by: `${which}: ${expected.join(", ")}`, seconds };
    const last = /^(PASS|FAIL|VOID|ERROR|HARNESS ERROR) /m.exec(ran.told)?.[1] ?? "no report";
    seen.push(`${last}${broken.length > 0 ? ` (${broken.join(", ")})` : ""}`);
  }
  return { isKilled: false, by: `${breaks.join(" or ")} not broken: ${seen.join("; ")}`, seconds };
}

/** @param {string} text */
function firstLine(text) {
  return (text.trim().split("\n")[0] ?? "").slice(0, 160);
}
