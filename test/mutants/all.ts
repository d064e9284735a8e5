import { DESTINATION_MUTANTS } from "./destinations.ts";
import { POSTGRES_MUTANTS } from "./postgres.ts";
import { PROTOCOL_MUTANTS } from "./protocol.ts";
import type { SourceMutant, Tier } from "./source-mutant.ts";
import { SQLITE_MUTANTS } from "./sqlite.ts";
import { WORKER_MUTANTS } from "./worker.ts";

/** Every text of `src/` that a test has to find out when it is replaced. */
export const SOURCE_MUTANTS: readonly SourceMutant[] = [
  ...PROTOCOL_MUTANTS,
  ...SQLITE_MUTANTS,
  ...POSTGRES_MUTANTS,
  ...WORKER_MUTANTS,
  ...DESTINATION_MUTANTS,
];

export function mutantsOf(tier: Tier): readonly SourceMutant[] {
  return SOURCE_MUTANTS.filter(({ tiers }) => tiers.includes(tier));
}
