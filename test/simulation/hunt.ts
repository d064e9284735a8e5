/** A program: looks for a world that breaks an invariant, and prints its seed and what broke. Of a mutant, when it is bundled so. */

import { simulate } from "./simulate.ts";

const [first = "1", last = "300"] = process.argv.slice(2);

for (let seed = Number(first); seed <= Number(last); seed++) {
  const broken = await simulate(seed).then(
    (result) => result.broken[0],
    (error: unknown) => String(error),
  );
  if (broken === undefined) continue;
  process.stdout.write(`${JSON.stringify({ seed, broken })}\n`);
  process.exit(1);
}
