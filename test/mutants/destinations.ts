import type { SourceMutant } from "./source-mutant.ts";

const SQLITE = "src/destinations/sqlite/guard.ts";
const POSTGRES = "src/destinations/postgres/guard.ts";

/** What a destination owes (section 5). The same mistakes stand in the kits by which users guard what is their own. */
export const DESTINATION_MUTANTS: readonly SourceMutant[] = [
  {
    name: "fence absent",
    file: "src/protocol/destination-rule.ts",
    edits: [{ find: "return { admitted: false };", replace: "return { admitted: true, raises: false };" }],
    tiers: ["kits", "processes"],
    chaos: { plan: "sqlite", breaks: ["I7"] },
  },
  {
    name: "fence absent, in PostgreSQL",
    file: "src/destinations/postgres/migrations/001-initial.sql",
    edits: [
      {
        find: "  if not {schema}.leasehold_admits(held.generation, held.owner, $2, $3) then\n",
        replace: "  if false then\n",
      },
    ],
    tiers: ["kits", "processes"],
    chaos: { plan: "pg18", breaks: ["I7"] },
  },
  {
    name: "fence asked in one transaction, effect made in another, in SQLite",
    file: SQLITE,
    edits: [
      {
        find: "    return this.#run(`write for ${token.line}`, async (tx) => {\n      this.#tables.admit(token);\n",
        replace:
          "    await this.#run(`admit ${token.line}`, async () => this.#tables.admit(token));\n    return this.#run(`write for ${token.line}`, async (tx) => {\n",
      },
    ],
    tiers: ["kits"],
  },
  {
    name: "fence asked in one transaction, effect made in another, in PostgreSQL",
    file: POSTGRES,
    edits: [
      {
        find: "        return await this.#runAdmitted(operation, lease, token, attempt, lookUp);\n",
        replace:
          '        await this.#runAdmitted(operation, lease, token, async () => {});\n        const statements = () => ["select 1;", ...lookUp];\n        return await this.#run(operation, attempt, { statements, failed: (error) => error });\n',
      },
    ],
    tiers: ["kits"],
  },
  {
    name: "idempotency key written after the effect, in SQLite",
    file: SQLITE,
    edits: [
      {
        find: "    return this.#run(`write for ${token.line}`, async (tx) => {\n",
        replace:
          "    const late: (() => void)[] = [];\n    const made = await this.#run(`write for ${token.line}`, async (tx) => {\n",
      },
      {
        find: "      this.#tables.keep(key, text);\n      return fromText<Answer>(text);\n    });\n",
        replace:
          "      late.push(() => this.#tables.keep(key, text));\n      return fromText<Answer>(text);\n    });\n    for (const keep of late) await this.#run(`keep`, async () => keep());\n    return made;\n",
      },
    ],
    tiers: ["kits"],
  },
  {
    name: "idempotency key written after the effect, in PostgreSQL",
    file: POSTGRES,
    edits: [
      {
        find: "    for (;;) {\n      const attempt = async",
        replace: "    const late: string[] = [];\n    for (;;) {\n      const attempt = async",
      },
      { find: "        tx.atEnd.push(", replace: "        late.push(" },
      {
        find: "        return await this.#runAdmitted(operation, lease, token, attempt, lookUp);\n",
        replace:
          '        const done = await this.#runAdmitted(operation, lease, token, attempt, lookUp);\n        for (const text of late) await this.#run("keep", (tx) => tx.query(text));\n        return done;\n',
      },
    ],
    tiers: ["kits"],
  },
  {
    name: "key without the job id",
    file: "src/destinations/effect.ts",
    edits: [{ find: "key: `${lease.effectScope}/${step}`", replace: "key: step" }],
    tiers: ["kits", "processes"],
    chaos: { plan: "sqlite", breaks: ["I8", "I13", "I14"] },
  },
  {
    name: "a replay that does not raise the mark, in SQLite",
    file: SQLITE,
    edits: [
      {
        find: "    return this.#run(`write for ${token.line}`, async (tx) => {\n",
        replace:
          "    const replays: Answer[] = [];\n    return this.#run(`write for ${token.line}`, async (tx) => {\n",
      },
      {
        find: "if (kept !== undefined) return replayed<Answer>(kept, key);",
        replace:
          'if (kept !== undefined) {\n        replays.push(replayed<Answer>(kept, key));\n        throw new Error("rolled back");\n      }',
      },
      {
        find: "      this.#tables.keep(key, text);\n      return fromText<Answer>(text);\n    });\n",
        replace:
          "      this.#tables.keep(key, text);\n      return fromText<Answer>(text);\n    }).catch((error: unknown) => {\n      if (replays.length > 0) return replays[0] as Answer;\n      throw error;\n    });\n",
      },
    ],
    tiers: ["kits"],
  },
  {
    name: "a replay that does not raise the mark, in PostgreSQL",
    file: POSTGRES,
    edits: [
      {
        find: "        if (kept !== undefined) return replayed<Answer>(kept, key);\n",
        replace:
          "        if (kept !== undefined) throw Object.assign(new Error(), { replay: [replayed<Answer>(kept, key)] });\n",
      },
      {
        find: "        if (!this.#isMadeMeanwhile(error)) throw error;\n",
        replace:
          "        const { replay } = error as { replay?: [Answer] };\n        if (replay !== undefined) return replay[0];\n        if (!this.#isMadeMeanwhile(error)) throw error;\n",
      },
    ],
    tiers: ["kits"],
  },
  {
    name: "int4 generation at a destination, in PostgreSQL",
    file: "src/destinations/postgres/migrations/001-initial.sql",
    edits: [
      {
        find: "  generation bigint not null check (generation between 0 and 9007199254740991),",
        replace: "  generation integer not null check (generation >= 0),",
      },
    ],
    tiers: ["kits"],
  },
];
