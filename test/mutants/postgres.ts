import type { SourceMutant } from "./source-mutant.ts";

const CLAIM = "src/stores/postgres/sql/claim.sql";
const SETTLE = "src/stores/postgres/sql/settle.sql";
const INITIAL = "src/stores/postgres/migrations/001-initial.sql";

/** The statements of the PostgreSQL store, and what it makes of the server's words. */
export const POSTGRES_MUTANTS: readonly SourceMutant[] = [
  {
    name: "owner compared without the generation, in PostgreSQL",
    file: SETTLE,
    edits: [
      {
        find: "owner = $1::text and generation = f.generation\n",
        replace: "owner = $1::text\n",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "completion by id only, in PostgreSQL",
    file: SETTLE,
    edits: [
      {
        find: "owner = $1::text and generation = f.generation\n",
        replace: "num_nulls(owner, $1::text) = 0\n",
      },
    ],
    tiers: ["conformance", "processes"],
    chaos: { plan: "pg18", breaks: ["I5", "I13"] },
  },
  {
    name: "a settle at or below epoch x 2^32, in PostgreSQL",
    file: SETTLE,
    edits: [
      {
        find: "            and generation > (select epoch_start from moment)\n            and num_nulls",
        replace: "            and num_nulls",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "generation not stepped on re-claim, in PostgreSQL",
    file: CLAIM,
    edits: [
      {
        find: "generation = greatest(j.generation, m.floor) + 1,\n         raised_by = 'claim',\n         attempt = j.attempt + 1,\n         expired_count",
        replace:
          "generation = case when j.owner is null then greatest(j.generation, m.floor) + 1 else j.generation end,\n         raised_by = 'claim',\n         attempt = j.attempt + 1,\n         expired_count",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "worker's clock in the claim, in PostgreSQL",
    file: "src/stores/postgres/look.ts",
    edits: [
      {
        find: "[...asked, takeover, candidates, wanted, time.estimateMs])",
        replace: "[...asked, takeover, candidates, wanted, Date.now()])",
      },
      {
        file: CLAIM,
        find: "least(m.now, $10::bigint) as lapsed_by",
        replace: "$10::bigint as lapsed_by",
      },
    ],
    tiers: ["faults"],
    tests: { faults: ["test/faults/postgres/clocks.test.ts"] },
  },
  {
    name: "claim without the expiry condition, in PostgreSQL",
    file: CLAIM,
    edits: [
      {
        find: "($7::boolean and lease_until <= (select lapsed_by from moment)\n",
        replace: "($7::boolean and lease_until > 0\n",
      },
    ],
    tiers: ["conformance", "processes"],
    chaos: { plan: "pg18", breaks: ["I3"] },
  },
  {
    name: "reclaim by id only, in PostgreSQL",
    file: CLAIM,
    edits: [
      {
        find: "          limit a.share\n            for update skip locked) j\n   limit $8::integer",
        replace: "          limit a.share) j\n   limit $8::integer",
      },
      {
        find: "where j.ctid = any (array(select at from chosen))\n     and (j.resource",
        replace: "where j.job_id = any (array(select job_id from chosen))\n     and (j.resource",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "a crash is not counted as an attempt, in PostgreSQL",
    file: CLAIM,
    edits: [
      {
        find: "attempt = j.attempt + 1,\n         expired_count",
        replace: "attempt = j.attempt + (j.owner is null)::integer,\n         expired_count",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "int4 generation, in PostgreSQL",
    file: INITIAL,
    edits: [
      {
        find: "  generation bigint not null default 0,\n  created_at",
        replace: "  generation integer not null default 0,\n  created_at",
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "token without epoch after a promotion, in PostgreSQL",
    file: INITIAL,
    edits: [
      {
        find: "s.epoch + greatest(coalesce(t.timeline - s.timeline, 0), 0) as epoch,",
        replace: "s.epoch as epoch,",
      },
    ],
    tiers: ["faults"],
    tests: { faults: ["test/faults/postgres/standby-lines.test.ts", "test/faults/postgres/standby.test.ts"] },
  },
  {
    // Whoever asks before it writes sees the job as it was: a repeat that comes while the first one is under way.
    name: "refusal classified before the write is over, in PostgreSQL",
    file: "src/stores/postgres/settle.ts",
    edits: [
      {
        find: "    const applied = await writeRound(connections, call, round, settlements);\n",
        replace: `    const before = await explain(
      connections.on(call),
      round.map((index) => refusedSettlement(settlements[index] as Settlement)),
      call.operation,
    );
    const applied = await writeRound(connections, call, round, settlements);
`,
      },
      {
        find: `    const explained = await explain(
      connections.on(call),
      refused.map((index) => refusedSettlement(settlements[index] as Settlement)),
      call.operation,
    );
`,
        replace: `    const explained = refused.map((index) => {
      const answer = before[round.indexOf(index)] as Refusal | Busy;
      return answer.outcome === "busy" ? ({ outcome: "gone" } as const) : answer;
    });
`,
      },
    ],
    tiers: ["conformance"],
  },
  {
    name: "a repeated enqueue checked before its insert, in PostgreSQL",
    file: "src/stores/postgres/enqueue.ts",
    edits: [
      {
        find: "  if (suspects.length === 0) return inserted;\n",
        replace: "  if (suspects.length >= 0) return inserted;\n",
      },
    ],
    tiers: ["conformance"],
    tests: { conformance: ["test/stores/postgres"] },
  },
  {
    name: "a renewal batch that waits for locks, in PostgreSQL",
    file: "src/stores/postgres/sql/renew.sql",
    edits: [
      {
        find: "            for update skip locked) j\n",
        replace: "            for update) j\n",
      },
    ],
    tiers: ["faults"],
    tests: { faults: ["test/faults/postgres/row-locks.test.ts"] },
  },
  {
    name: "cancelled wait for the standby treated as yes, in PostgreSQL",
    file: "src/stores/postgres/failure.ts",
    edits: [
      {
        find: '    notice.routine === "SyncRepWaitForLSN" ||\n    /canceling',
        replace: '    notice.routine === "no such routine" ||\n    /never said canceling',
      },
    ],
    tiers: ["faults"],
    tests: { faults: ["test/faults/postgres/synchronous.test.ts"] },
  },
  {
    name: "listener not re-opened, in PostgreSQL",
    file: "src/stores/postgres/channel.ts",
    edits: [
      {
        find: "    this.#after(this.#retryMs * (0.5 + this.#options.world.random.next()), () => void this.#open());\n",
        replace: "",
      },
    ],
    tiers: ["faults"],
    tests: { faults: ["test/stores/postgres/channel.test.ts"] },
  },
];
