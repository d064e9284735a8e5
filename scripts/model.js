// `npm run model`: searches each text in spec/ in all its variants, and compares with what spec/variants.md expects.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Table from "cli-table3";
import { variantsOf } from "./model-variants.js";

/** @typedef {import("./model-variants.js").Variant} Variant */
/** @typedef {import("./model-variants.js").Outcome} Outcome */
/** @typedef {{ variant: Variant, outcome: Outcome, wrong: string | undefined, seconds: number }} Result */

const run = promisify(execFile);
const spec = fileURLToPath(new URL("../spec/", import.meta.url));

/** From so many states on, a larger hash table. */
const MANY_STATES = 50_000;
/** Seconds: gcc -O2 compiles in 8.8 and searches the largest of the short ones in 1.0; -O0 in 1.7 and 1.5; tcc in 0.05 and 2.2. */
const QUICK = [["tcc"], ["gcc", "-O0"]];
const OPTIMISED = [["gcc", "-O2"]];

/** @returns {Variant[]} */
export function variants() {
  return variantsOf(readFileSync(join(spec, "variants.md"), "utf8"));
}

/**
 * Searches all states of one variant. One that is expected to break is searched breadth first, so that its trail is a
 * shortest one.
 *
 * @param {Variant} variant
 * @param {{ depth?: number }} [limits] depth: the longest path that is followed, in steps; what is cut there is `unfinished`
 * @returns {Promise<{ outcome: Outcome, story: string[] }>} story: the steps that lead to what broke
 */
export async function search({ text, switches, expected, long }, { depth = 1_000_000 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-model-"));
  const here = { cwd: folder, maxBuffer: 64 * 2 ** 20 };
  const source = join(spec, text);
  const flags = switches.map((flag) => `-D${flag}`);
  const many = (expected.states ?? 0) >= MANY_STATES;
  const shortest = expected.breaks === undefined ? [] : ["-DBFS"];
  const defines = ["-DSAFETY", "-DNOREDUCE", "-DMEMLIM=2000", ...shortest];
  try {
    await run("spin", ["-a", ...flags, source], here);
    await compile(long ? OPTIMISED : QUICK, ["-w", ...defines, "-o", "pan", "pan.c"], here);
    const { stdout } = await run(join(folder, "pan"), ["-n", `-m${depth}`, `-w${many ? 24 : 18}`], here);
    const outcome = outcomeOf(stdout);
    if (outcome.breaks === undefined) return { outcome, story: [] };
    const trail = ["-t", "-k", join(folder, `${basename(source)}.trail`), ...flags, source];
    return { outcome, story: storyOf((await run("spin", trail, here)).stdout) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * With the first of the compilers that is there.
 *
 * @param {string[][]} compilers each with its options
 * @param {string[]} args
 * @param {{ cwd: string }} here
 */
async function compile(compilers, args, here) {
  for (const [at, [command = "", ...options]] of compilers.entries()) {
    try {
      await run(command, [...options, ...args], here);
      return;
    } catch (error) {
      const isMissing = /** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT";
      if (!isMissing || at === compilers.length - 1) throw error;
    }
  }
}

/**
 * What a search has shown, from what it printed. Whatever was not searched to its end has shown nothing.
 *
 * @param {string} printed
 * @returns {Outcome}
 */
export function outcomeOf(printed) {
  const broken = /assertion violated (.*) \(at depth/.exec(printed)?.[1];
  // `must` puts the invariant's name last: ((condition)||I7)
  if (broken !== undefined) return { breaks: /\|\|(\w+)\)$/.exec(broken)?.[1] ?? broken };
  if (printed.includes("invalid end state")) {
    const stuck = /^pan:\d+: invalid end state/m.test(printed);
    if (stuck) return { breaks: "end state" };
  }
  const cut = /max search depth too small|out of memory|MEMLIM|Search not completed|hash table full/.exec(
    printed,
  );
  if (cut !== null) return { unfinished: cut[0] };
  const states = /^\s*(\d+) states, stored/m.exec(printed)?.[1];
  if (states === undefined || !/errors: 0$/m.test(printed)) return { unfinished: "no count of states" };
  return { states: Number(states) };
}

/**
 * @param {Outcome} outcome
 * @param {Outcome} expected
 * @returns {string | undefined} what differs
 */
export function difference(outcome, expected) {
  return told(outcome) === told(expected) ? undefined : `expected: ${told(expected)}; seen: ${told(outcome)}`;
}

/** @param {Outcome} outcome */
export function told({ states, breaks, unfinished }) {
  if (unfinished !== undefined) return `not searched to its end (${unfinished})`;
  return breaks === undefined ? `holds, ${states?.toLocaleString("en")} states` : `breaks ${breaks}`;
}

/** @param {string} printed of `spin -t` @returns {string[]} what the text printed at each step */
function storyOf(printed) {
  const lines = printed.split("\n");
  const end = lines.findIndex((line) => line.startsWith("spin: "));
  return lines
    .slice(0, end)
    .filter((line) => line.startsWith("    "))
    .map((line) => line.trim());
}

/**
 * Starts all, two at a time.
 *
 * @template Item, Answer
 * @param {readonly Item[]} items
 * @param {(item: Item) => Promise<Answer>} work
 * @returns {Promise<Answer>[]} in the order of the items; none is left to reject unheard
 */
export function twoAtATime(items, work) {
  /** @type {Promise<unknown>[]} */
  const lanes = [Promise.resolve(), Promise.resolve()];
  /** @type {Promise<number>} */
  let next = Promise.resolve(0);
  return items.map((item) => {
    const lane = next;
    const answer = lane.then((free) => {
      const done = work(item);
      lanes[free] = done.catch(() => {});
      return { done };
    });
    next = answer.then(() => Promise.race(lanes.map((busy, at) => busy.then(() => at))));
    const settled = answer.then(({ done }) => done);
    settled.catch(() => {});
    return settled;
  });
}

/** @param {Variant} variant @returns {Promise<Result>} */
async function judged(variant) {
  const startedAtMs = performance.now();
  const { outcome } = await search(variant);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const result = { variant, outcome, wrong: difference(outcome, variant.expected), seconds };
  process.stderr.write(result.wrong === undefined ? "." : "!");
  return result;
}

/** @param {readonly Result[]} results */
function print(results) {
  const table = new Table({
    head: ["text", "variant", "seen", "", "s"],
    style: { head: [], border: [], compact: true },
  });
  for (const { variant, outcome, wrong, seconds } of results)
    table.push([
      variant.text,
      variant.name,
      told(outcome),
      wrong === undefined ? "as expected" : "WRONG",
      seconds.toFixed(1),
    ]);
  console.log(table.toString());
  for (const { variant, wrong } of results)
    if (wrong !== undefined) console.log(`${variant.text} ${variant.name}: ${wrong}`);
}

async function main() {
  const args = process.argv.slice(2);
  const long = args.includes("--long");
  const tell = args.includes("--story");
  const names = args.filter((arg) => !arg.startsWith("--"));
  const asked = variants().filter(({ name, long: isLong }) =>
    names.length > 0 ? names.includes(name) : long || !isLong,
  );
  if (asked.length === 0) {
    console.error(`No variant is called ${names.join(", ")}. They are listed in spec/variants.md.`);
    process.exitCode = 2;
    return;
  }
  if (tell) {
    for (const variant of asked) {
      const { outcome, story } = await search(variant);
      console.log(`${variant.text} ${variant.name}: ${told(outcome)}`);
      for (const [at, step] of story.entries()) console.log(`${String(at + 1).padStart(4)}  ${step}`);
    }
    return;
  }
  const startedAtMs = performance.now();
  const results = await Promise.all(twoAtATime(asked, judged));
  process.stderr.write("\n");
  print(results);
  const wrong = results.filter((result) => result.wrong !== undefined).length;
  const held = results.filter(({ outcome }) => outcome.states !== undefined).length;
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0);
  console.log(
    `${results.length} variants in ${seconds} s: ${held} hold, ${results.length - held} do not, ${wrong} not as expected`,
  );
  if (wrong > 0) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
