import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { bundle } from "../mutants/bundle.ts";
import { seed as runSeed, seededRandom } from "../support/seed.ts";
import { type Counts, noCounts, sumOf, voidness } from "./counts.ts";
import { shrunk, story } from "./shrink.ts";
import { simulate } from "./simulate.ts";

/**
 * How many worlds are drawn in all; `SIM_RUNS` asks for another number. The first 500 of a file cost twice as much as later
 * ones. A batch of 200 is void by chance once in 70 times (stale effects), one of 500 once in 2,000.
 */
const RUNS = Number(
  process.env["SIM_RUNS"] ?? (process.env["LEASEHOLD_REQUIRE_ALL"] === "1" ? 5_000 : 1_000),
);

/** Each shard is a test file, so that they run side by side. */
const SHARDS = 2;

// Below node_modules, so that what the program imports is found from there.
const WORK = "node_modules/.leasehold-worlds";

/** @returns what the world saw, when it keeps the invariants */
export async function holds(seed: number, simulated: typeof simulate = simulate): Promise<Counts> {
  const { broken, counts } = await simulated(seed);
  if (broken.length > 0) expect.fail(story(await shrunk(seed)));
  return counts;
}

/** Draws its share of the worlds. A batch that has seen too little is a failure as well: it is void. */
export function drawWorlds(shard: number): void {
  const runs = Math.ceil(RUNS / SHARDS);
  mkdirSync(WORK, { recursive: true });
  const folder = mkdtempSync(join(WORK, `shard-${shard}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  it(`the invariants hold in ${runs} worlds drawn from this run's seed`, { timeout: 3_600_000 }, async () => {
    const random = seededRandom(`worlds ${shard}`);
    let counts = noCounts();
    const bundled = await bundledIn(folder);
    const beganMs = performance.now();
    const before = process.cpuUsage();
    for (let n = 0; n < runs; n++)
      counts = sumOf(counts, await holds(Math.floor(random() * 2 ** 31), bundled));
    const { faults, ...sums } = counts;
    const tookS = (performance.now() - beganMs) / 1_000;
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1_000 / runs;
    process.stdout.write(
      `simulation: ${runs} worlds from seed ${runSeed} in ${tookS.toFixed(0)} s, ${cpuMs.toFixed(1)} ms of CPU each: ${JSON.stringify(sums)} ${JSON.stringify(faults)}\n`,
    );
    expect(voidness(counts, runs), "void: the worlds have seen too little").toEqual([]);
  });
}

/**
 * The same as one module: the test runner turns each use of an import into a look into another module, by which a world takes
 * a sixth more of CPU.
 */
async function bundledIn(folder: string): Promise<typeof simulate> {
  const program = await bundle("test/simulation/simulate.ts", folder);
  const module: { readonly simulate: typeof simulate } = await import(pathToFileURL(program).href);
  return module.simulate;
}
