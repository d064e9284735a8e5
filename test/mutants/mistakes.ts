/** A mistake of which each kind of test that can see it has a mutant. The names are those of what is broken, by all their names. */
export interface Mistake {
  readonly name: string;
  /** Of spec/variants.md: the model with the mistake in it. */
  readonly variants: readonly string[];
  /** Of test/simulation/mutants.ts: a broken store, destination or worker in the simulation. */
  readonly simulated: readonly string[];
  /** Of `SOURCE_MUTANTS`. */
  readonly sources: readonly string[];
}

/**
 * Those without which no release is made. What the model leaves out (time, replies, connections, the size of numbers) has no
 * variant.
 */
export const MISTAKES: readonly Mistake[] = [
  {
    name: "owner compared without generation",
    variants: ["renew-by-owner", "complete-by-owner", "renew-by-owner-across", "complete-by-owner-across"],
    simulated: ["owner compared without generation"],
    sources: [
      "owner compared without the generation, in the core",
      "owner compared without the generation, in SQLite",
      "owner compared without the generation, in PostgreSQL",
    ],
  },
  {
    name: "generation not stepped on re-claim",
    variants: ["not-stepped"],
    simulated: ["generation not stepped on re-claim"],
    sources: [
      "generation not stepped on re-claim, in the core",
      "generation not stepped on re-claim, in SQLite",
      "generation not stepped on re-claim, in PostgreSQL",
    ],
  },
  {
    name: "worker's clock in the claim",
    variants: [],
    simulated: ["worker's clock in the claim"],
    sources: ["worker's clock in the claim, in PostgreSQL"],
  },
  {
    name: "deadline from the reply",
    variants: [],
    simulated: [],
    sources: ["deadline from the claim's reply", "deadline from the renewal's reply"],
  },
  {
    name: "late reply believed",
    variants: [],
    simulated: ["no trust in the lease asked"],
    sources: ["late reply to a claim believed", "trust never ends"],
  },
  {
    name: "claim without the expiry condition",
    variants: [],
    simulated: ["claim without the expiry condition"],
    sources: [
      "claim without the expiry condition, in the core",
      "claim without the expiry condition, in SQLite",
      "claim without the expiry condition, in PostgreSQL",
    ],
  },
  {
    name: "reclaim by id only",
    variants: ["reclaim-by-id"],
    simulated: ["reclaim by id only"],
    sources: ["reclaim by id only, in SQLite", "reclaim by id only, in PostgreSQL"],
  },
  {
    name: "completion by id only",
    variants: ["complete-by-id", "renew-by-id"],
    simulated: ["completion by id only"],
    sources: [
      "renewal and completion by id only, in the core",
      "renewal and completion by id only, in SQLite",
      "completion by id only, in PostgreSQL",
    ],
  },
  {
    name: "fence absent",
    variants: ["no-fence", "deduplicated-unordered"],
    simulated: ["fence absent"],
    sources: ["fence absent", "fence absent, in PostgreSQL"],
  },
  {
    name: "fence check and effect in two transactions",
    variants: ["check-then-write"],
    simulated: ["fence asked in one transaction, effect made in another"],
    sources: [
      "fence asked in one transaction, effect made in another, in SQLite",
      "fence asked in one transaction, effect made in another, in PostgreSQL",
    ],
  },
  {
    name: "idempotency key written after the effect",
    variants: ["key-after-effect"],
    simulated: ["idempotency key written after the effect"],
    sources: [
      "idempotency key written after the effect, in SQLite",
      "idempotency key written after the effect, in PostgreSQL",
    ],
  },
  {
    name: "key without the job id",
    variants: [],
    simulated: ["key without the job id"],
    sources: ["key without the job id"],
  },
  {
    name: "renewal timer not re-armed after a failure",
    variants: [],
    simulated: [],
    sources: ["renewal timer not re-armed after a failure"],
  },
  { name: "renewal after stop", variants: [], simulated: [], sources: ["renewal after stop"] },
  { name: "unknown treated as no", variants: [], simulated: [], sources: ["unknown treated as no"] },
  {
    name: "cancelled sync wait treated as yes",
    variants: [],
    simulated: ["cancelled wait for the standby taken for done"],
    sources: ["cancelled wait for the standby treated as yes, in PostgreSQL"],
  },
  {
    name: "token without epoch",
    variants: ["no-epoch", "no-d2", "twin"],
    simulated: ["token without epoch"],
    sources: ["token without epoch, in the core", "token without epoch after a promotion, in PostgreSQL"],
  },
  {
    name: "crash not counted as attempt",
    variants: ["crash-not-counted"],
    simulated: ["crash not counted as attempt"],
    sources: [
      "a crash is not counted as an attempt, in the core",
      "a crash is not counted as an attempt, in SQLite",
      "a crash is not counted as an attempt, in PostgreSQL",
    ],
  },
  {
    name: "int4 generation",
    variants: [],
    simulated: [],
    sources: [
      "int4 generation, in the core",
      "int4 generation, in PostgreSQL",
      "int4 generation at a destination, in PostgreSQL",
    ],
  },
  {
    name: "listener not re-opened",
    variants: [],
    simulated: [],
    sources: ["listener not re-opened, in PostgreSQL"],
  },
  {
    name: "refusal classified in the writing statement",
    variants: [],
    simulated: [],
    sources: ["refusal classified before the write is over, in PostgreSQL"],
  },
  {
    name: "a repeated enqueue checked before its insert",
    variants: [],
    simulated: [],
    sources: [
      "a repeated enqueue is not recognised",
      "a repeated enqueue checked before its insert, in PostgreSQL",
    ],
  },
  {
    name: "a bare `complete` after an unknown commit",
    variants: [],
    simulated: [],
    sources: ["a bare complete after an unknown commit"],
  },
  {
    name: "a renewal batch that waits for locks",
    variants: [],
    simulated: [],
    sources: ["a renewal batch that waits for locks, in PostgreSQL"],
  },
  {
    name: "a settle at or below epoch x 2^32",
    variants: ["survivor"],
    simulated: [],
    sources: [
      "a settle at or below epoch x 2^32",
      "a settle at or below epoch x 2^32, in SQLite",
      "a settle at or below epoch x 2^32, in PostgreSQL",
    ],
  },
  {
    name: "a replay that does not raise the mark",
    variants: ["replay-leaves-mark"],
    simulated: ["a replay that does not raise the mark"],
    sources: [
      "a replay that does not raise the mark, in SQLite",
      "a replay that does not raise the mark, in PostgreSQL",
    ],
  },
];
