import { expect, it } from "vitest";
import { seed as runSeed, seededRandom } from "../support/seed.ts";
import { MUTANTS } from "./mutants.ts";
import { shrunk, story } from "./shrink.ts";
import { type Counts, simulate } from "./simulate.ts";

/** Seeds that once failed, or whose stories are worth keeping. */
const KEPT: readonly number[] = [70, 93, 685_849_914];

/** How many worlds are drawn; `SIM_RUNS` asks for more. */
const RUNS = Number(process.env["SIM_RUNS"] ?? (process.env["LEASEHOLD_REQUIRE_ALL"] === "1" ? 1_000 : 200));

/** What a hundred runs must have seen at least: with less they would have shown nothing. */
const FLOORS: Partial<Counts> = {
  reclaims: 100,
  refusedRenewals: 100,
  lateEnds: 30,
  staleEffects: 5,
  duplicates: 100,
  unknown: 200,
  longFreezes: 100,
  kills: 50,
  lostGrants: 10,
  blindDuplicates: 100,
};

async function holds(seed: number): Promise<Counts> {
  const { broken, counts } = await simulate(seed);
  if (broken.length > 0) expect.fail(story(await shrunk(seed)));
  return counts;
}

const asked = process.env["SIM_SEED"];
it.each(asked === undefined ? KEPT : [Number(asked)])(
  "the world of seed %i keeps the invariants",
  async (seed) => {
    await holds(seed);
  },
);

it(`the invariants hold in ${RUNS} worlds drawn from this run's seed`, { timeout: 900_000 }, async () => {
  const random = seededRandom("worlds");
  const sums: Record<string, number> = {};
  for (let n = 0; n < RUNS; n++) {
    const counts = await holds(Math.floor(random() * 2 ** 31));
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
  }
  process.stdout.write(`simulation: ${RUNS} worlds from seed ${runSeed}: ${JSON.stringify(sums)}\n`);
  for (const [name, floor] of Object.entries(FLOORS)) {
    expect(sums[name], `void: too little of ${name} was seen`).toBeGreaterThanOrEqual((floor * RUNS) / 100);
  }
});

it("the same seed tells the same story", async () => {
  const [once, again] = [await simulate(4), await simulate(4)];
  expect(again).toEqual(once);
});

it("a failing story is made smaller, and fails still", { timeout: 120_000 }, async () => {
  const mutant = MUTANTS["fence absent"];
  const whole = await simulate(4, mutant);
  const small = await shrunk(4, mutant);
  expect(small.broken).not.toEqual([]);
  expect(small.faults.length + small.struck.length).toBeLessThan(whole.faults.length + whole.struck.length);
});
