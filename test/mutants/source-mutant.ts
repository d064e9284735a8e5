/** Which tests have to find a mutant out. `kits`: the contract of destinations; `faults`: real servers that fail. */
export type Tier = "simulation" | "conformance" | "kits" | "worker" | "faults" | "processes";

/** One text of `src/` replaced by another that breaks a rule. */
export interface SourceMutant {
  readonly name: string;
  /** From the project's root. */
  readonly file: string;
  readonly edits: readonly Edit[];
  readonly tiers: readonly Tier[];
  /** What vitest is given for a tier, from the project's root, where that is not what its name and file say (`testsOf`). */
  readonly tests?: Partial<Record<Exclude<Tier, "simulation" | "processes">, readonly string[]>>;
  /** Asked of it when `processes` is among the tiers. */
  readonly chaos?: Chaos;
}

export interface Chaos {
  /** Of test/faults/chaos/plans. */
  readonly plan: string;
  /** One of these has to break: what breaks beside it, on a busy machine, says nothing about the mutant. */
  readonly breaks: readonly string[];
}

interface Edit {
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Where it is not the mutant's file. */
  readonly file?: string;
}

/** The files that the mutant is made of. */
export function filesOf({ file, edits }: SourceMutant): readonly string[] {
  return [...new Set([file, ...edits.flatMap((edit) => edit.file ?? [])])];
}

/** @throws {Error} a text was not found exactly once: the source has changed, and the mutant with it */
export function mutated(mutant: SourceMutant, file: string, source: string): string {
  let text = source;
  for (const { find, replace, file: where = mutant.file } of mutant.edits) {
    if (where !== file) continue;
    const times = text.split(find).length - 1;
    if (times !== 1)
      throw new Error(`${mutant.name}: ${JSON.stringify(find)} stands ${times} times in ${file}`);
    text = text.replace(find, () => replace);
  }
  return text;
}

/** The test files of a tier that run mutated code. */
export function testsOf({ file, tests }: SourceMutant, tier: Tier): readonly string[] {
  if (tier === "simulation" || tier === "processes") return [];
  const given = tests?.[tier];
  if (given !== undefined) return given;
  if (tier === "worker") return ["test/worker"];
  if (tier === "kits") return ["test/destinations/conformance.test.ts"];
  if (tier === "faults") return ["test/faults/postgres"];
  const store = /^src\/stores\/(sqlite|postgres)\//.exec(file)?.[1] ?? "memory";
  return [`test/stores/${store === "postgres" ? "postgres-18" : store}.test.ts`];
}
