/** What looking at a store has shown. Whoever looks writes nothing and migrates nothing. */

export interface Finding {
  /** What was looked at: `server`, `schema`, `durability` … */
  readonly check: string;
  /** `problem`: the store cannot be used as it is, or may lose what it has acknowledged. */
  readonly level: "ok" | "warning" | "problem";
  readonly found: string;
  /** What to do, where something is to be done. */
  readonly next?: string;
}

export interface Examination {
  /** For people, without a password. */
  readonly store: string;
  /** False: no worker can use the store; what depends on that was not looked at. */
  readonly isUsable: boolean;
  readonly findings: readonly Finding[];
}

export function ok(check: string, found: string): Finding {
  return { check, level: "ok", found };
}

export function warning(check: string, found: string, next: string): Finding {
  return { check, level: "warning", found, next };
}

export function problem(check: string, found: string, next: string): Finding {
  return { check, level: "problem", found, next };
}

export interface FoundSchema {
  /** 0 when there is none. */
  readonly version: number;
  /** The oldest schema whose code can work with it. */
  readonly worksWith: number;
}

/** @param newest the schema of this version */
export function schemaFinding({ version, worksWith }: FoundSchema, newest: number): Finding {
  if (version === 0) {
    return problem("schema", "There is no store here.", "Run `leasehold migrate`, or correct the address.");
  }
  if (worksWith > newest) {
    return problem(
      "schema",
      `Schema ${version}, and this version of leasehold knows schemas up to ${newest}.`,
      "Install the version that migrated the store, or a newer one.",
    );
  }
  if (version > newest) {
    return warning(
      "schema",
      `Schema ${version}, which a newer leasehold made; this one knows ${newest} and can work with it.`,
      "Install the newer version here as well.",
    );
  }
  if (version < newest) {
    return warning(
      "schema",
      `Schema ${version}; this version of leasehold brings it to ${newest} when it opens the store.`,
      "Run `leasehold migrate` at a moment of your choice; workers may go on meanwhile.",
    );
  }
  return ok("schema", `Schema ${version}, up to date.`);
}

export function messageOf(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: string; code?: unknown };
  return message === undefined || message === "" ? String(code ?? error) : message;
}
