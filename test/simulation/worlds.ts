import { expect, it } from "vitest";
import { seed as runSeed, seededRandom } from "../support/seed.ts";
import { type Counts, noCounts, sumOf, voidness } from "./counts.ts";
import { shrunk, story } from "./shrink.ts";
import { simulate } from "./simulate.ts";

/** How many worlds are drawn in all; `SIM_RUNS` asks for more: 5,000 take two minutes of a quiet machine with two cores. */
const RUNS = Number(process.env["SIM_RUNS"] ?? (process.env["LEASEHOLD_REQUIRE_ALL"] === "1" ? 1_000 : 400));

/** Each shard is a test file, so that they run side by side. */
const SHARDS = 2;

/** @returns what the world saw, when it keeps the invariants */
export async function holds(seed: number): Promise<Counts> {
  const { broken, counts } = await simulate(seed);
  if (broken.length > 0) expect.fail(story(await shrunk(seed)));
  return counts;
}

/** Draws its share of the worlds. A batch that has seen too little is a failure as well: it is void. */
export function drawWorlds(shard: number): void {
  const runs = Math.ceil(RUNS / SHARDS);
  it(`the invariants hold in ${runs} worlds drawn from this run's seed`, { timeout: 3_600_000 }, async () => {
    const random = seededRandom(`worlds ${shard}`);
    let counts = noCounts();
    const beganMs = performance.now();
    for (let n = 0; n < runs; n++) counts = sumOf(counts, await holds(Math.floor(random() * 2 ** 31)));
    const { faults, ...sums } = counts;
    const tookMs = (performance.now() - beganMs) / runs;
    process.stdout.write(
      `simulation: ${runs} worlds from seed ${runSeed}, ${tookMs.toFixed(1)} ms each: ${JSON.stringify(sums)} ${JSON.stringify(faults)}\n`,
    );
    expect(voidness(counts, runs), "void: the worlds have seen too little").toEqual([]);
  });
}
