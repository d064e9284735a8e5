/**
 * A program: looks for a world that breaks an invariant, and prints its seed and what broke. Of a mutant of the source, when it
 * is bundled so; of one of ./mutants.ts, when that is named behind the first and the last seed.
 */

import { MUTANTS, SOUND } from "./mutants.ts";
import { simulate } from "./simulate.ts";

const [first = "1", last = "300", name] = process.argv.slice(2);
const mutant = name === undefined ? SOUND : MUTANTS[name];
if (mutant === undefined) throw new Error(`There is no mutant ${name}`);

for (let seed = Number(first); seed <= Number(last); seed++) {
  const broken = await simulate(seed, { mutant }).then(
    (result) => result.broken[0],
    (error: unknown) => String(error),
  );
  if (broken === undefined) continue;
  process.stdout.write(`${JSON.stringify({ seed, broken })}\n`);
  process.exit(1);
}
