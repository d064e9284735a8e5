/** Which tests have to find a mutant out. */
export type Tier = "simulation" | "conformance" | "worker" | "processes";

/** One text of `src/` replaced by another that breaks a rule. */
export interface SourceMutant {
  readonly name: string;
  /** From the project's root. */
  readonly file: string;
  readonly edits: readonly Edit[];
  readonly tiers: readonly Tier[];
}

interface Edit {
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** @throws {Error} a text was not found exactly once: the source has changed, and the mutant with it */
export function mutated({ name, file, edits }: SourceMutant, source: string): string {
  let text = source;
  for (const { find, replace } of edits) {
    const times = text.split(find).length - 1;
    if (times !== 1) throw new Error(`${name}: ${JSON.stringify(find)} stands ${times} times in ${file}`);
    text = text.replace(find, () => replace);
  }
  return text;
}
