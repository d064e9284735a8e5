import { PROTOCOL_MUTANTS } from "./protocol.ts";
import type { SourceMutant, Tier } from "./source-mutant.ts";
import { WORKER_MUTANTS } from "./worker.ts";

/** Every text of `src/` that a test has to find out when it is replaced. */
export const SOURCE_MUTANTS: readonly SourceMutant[] = [...PROTOCOL_MUTANTS, ...WORKER_MUTANTS];

export function mutantsOf(tier: Tier): readonly SourceMutant[] {
  return SOURCE_MUTANTS.filter(({ tiers }) => tiers.includes(tier));
}
