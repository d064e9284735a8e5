import { expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";
import { simulate } from "./simulate.ts";

/** How many worlds a broken one may survive. */
const MOST_RUNS = 300;

it.each(Object.entries(MUTANTS))("is found out: %s", { timeout: 120_000 }, async (name, mutant) => {
  for (let seed = 1; seed <= MOST_RUNS; seed++) {
    const { broken } = await simulate(seed, { mutant });
    if (broken.length === 0) continue;
    if (process.env["LEASEHOLD_SHOW"] === "1")
      process.stdout.write(`${name}: in run ${seed}, ${broken[0]}\n`);
    return;
  }
  expect.fail(`${name} survived ${MOST_RUNS} runs`);
});
