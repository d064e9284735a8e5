import { type Mutant, SOUND } from "./mutants.ts";
import { type SimResult, simulate } from "./simulate.ts";

/** The faults that a failing run needs: kinds are left out one after the other, then single strikes, while it still fails. */
export async function shrunk(seed: number, mutant: Mutant = SOUND): Promise<SimResult> {
  const without = new Set<string>();
  let smallest = await simulate(seed, { mutant });
  const tryWithout = async (name: string): Promise<void> => {
    const result = await simulate(seed, { mutant, without: new Set([...without, name]) });
    if (result.broken.length === 0) return;
    without.add(name);
    smallest = result;
  };
  for (const kind of smallest.faults) await tryWithout(kind);
  for (const strike of [...smallest.struck].reverse()) await tryWithout(strike);
  return { ...smallest, faults: smallest.faults.filter((kind) => !without.has(kind)) };
}

export function story({ seed, broken, faults, struck }: SimResult): string {
  return [
    `seed ${seed}: ${broken.join("; ")}`,
    `needs: ${faults.join(", ") || "no fault"}; struck: ${struck.join(", ") || "none"}`,
    `replay: SIM_SEED=${seed} npm test -- test/simulation`,
  ].join("\n");
}
