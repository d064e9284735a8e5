import type { SourceMutant } from "./source-mutant.ts";

/** What a worker owes (section 4): when it trusts, renews, offers and stops. */
export const WORKER_MUTANTS: readonly SourceMutant[] = [
  {
    name: "deadline from the claim's reply",
    file: "src/worker/claimer.ts",
    edits: [
      {
        find: "    this.#host.claimed(reply, sent);",
        replace: "    this.#host.claimed(reply, instant(this.#world.clock));",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/claiming.test.ts", "test/worker/signal.test.ts"] },
  },
  {
    name: "deadline from the renewal's reply",
    file: "src/worker/inline-renewer.ts",
    edits: [
      {
        find: "lease.extend(sent, this.#world.random.next());",
        replace: "lease.extend(instant(this.#world.clock), this.#world.random.next());",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/renewal.test.ts", "test/worker/signal.test.ts"] },
  },
  {
    name: "late reply to a claim believed",
    file: "src/worker/run.ts",
    edits: [
      {
        find: "return this.host.world.clock.monotonicMs() - sent.monotonicMs < leaseMs - marginMs;",
        replace:
          "return this.host.world.clock.monotonicMs() - sent.monotonicMs < 1_000 * (leaseMs - marginMs);",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/claiming.test.ts"] },
  },
  {
    name: "trust never ends",
    file: "src/protocol/trust.ts",
    edits: [
      { find: '  if (monotonicElapsedMs >= trustedMs) return "ended";\n', replace: "" },
      { find: 'return wallElapsedMs >= trustedMs ? "ended" : "held";', replace: 'return "held";' },
    ],
    tiers: ["simulation", "worker", "processes"],
    tests: { worker: ["test/worker/signal.test.ts", "test/worker/losing.test.ts"] },
    chaos: { plan: "sqlite", breaks: ["I10", "I11"] },
  },
  {
    name: "renewal timer not re-armed after a failure",
    file: "src/worker/inline-renewer.ts",
    edits: [
      {
        find: "this.#send(now.monotonicMs + TOGETHER_MS).catch(() => {});",
        replace: `this.#send(now.monotonicMs + TOGETHER_MS).catch(() => {
          for (const one of this.#held) one.renewAtMs = Number.POSITIVE_INFINITY;
        });`,
      },
    ],
    tiers: ["simulation", "worker"],
    tests: {
      worker: [
        "test/worker/out-of-reach.test.ts",
        "test/worker/renewal.test.ts",
        "test/worker/signal.test.ts",
      ],
    },
  },
  {
    name: "no renewal at all",
    file: "src/worker/inline-renewer.ts",
    edits: [
      {
        find: "if (lease.renewAtMs <= now.monotonicMs && now.monotonicMs < lease.untilMs) {",
        replace: "if (lease.renewAtMs <= now.monotonicMs && now.monotonicMs > lease.untilMs) {",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/renewal.test.ts"] },
  },
  {
    name: "renewal after stop",
    file: "src/worker/engine.ts",
    edits: [
      {
        find: "    this.#renewer.drop(lease);\n",
        replace: "    if (!this.#stopping) this.#renewer.drop(lease);\n",
      },
      { find: "    this.#ticker.stop();\n", replace: "" },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/stopping.test.ts"] },
  },
  {
    name: "a stuck run is renewed for ever",
    file: "src/worker/run.ts",
    edits: [
      {
        find: "    this.host.limit(this.lease, nowMs);\n    this.host.stuck",
        replace: "    this.host.stuck",
      },
    ],
    tiers: ["worker"],
    tests: { worker: ["test/worker/losing.test.ts"] },
  },
  {
    name: "a stuck run hears of no refusal",
    file: "src/worker/run.ts",
    edits: [
      {
        find: "    this.host.limit(this.lease, nowMs);\n    this.host.stuck",
        replace: "    this.host.drop(this.lease);\n    this.host.stuck",
      },
    ],
    tiers: ["worker"],
    tests: { worker: ["test/worker/losing.test.ts"] },
  },
  {
    name: "a refused renewal is not told",
    file: "src/worker/inline-renewer.ts",
    edits: [{ find: "        lease.holder.refused(answer);\n", replace: "" }],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/losing.test.ts", "test/worker/signal.test.ts"] },
  },
  {
    name: "unknown treated as no",
    file: "src/worker/settler.ts",
    edits: [
      {
        find: "    this.#failures++;\n    this.#queue = [",
        replace: `    if (error instanceof UnknownOutcomeError) {
      for (const run of batch) run.unsettled({ outcome: "gone" });
    }
    this.#failures++;
    this.#queue = [`,
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/out-of-reach.test.ts"] },
  },
  {
    name: "unknown treated as yes",
    file: "src/worker/settler.ts",
    edits: [
      {
        find: "    this.#failures++;\n    this.#queue = [",
        replace: `    if (error instanceof UnknownOutcomeError) {
      for (const run of batch) run.settled(undefined);
    }
    this.#failures++;
    this.#queue = [`,
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/out-of-reach.test.ts"] },
  },
  {
    name: "a settling whose call fails after the close is repeated",
    file: "src/worker/settler.ts",
    edits: [{ find: "    if (this.#abandoned) this.abandon();\n    else if", replace: "    if" }],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/stopping.test.ts"] },
  },
  {
    name: "a bare complete after an unknown commit",
    file: "src/worker/complete.ts",
    edits: [
      {
        find: "if (unknown !== undefined && (await wasSettled(run))) break;",
        replace: "",
      },
    ],
    tiers: ["worker"],
    tests: { worker: ["test/worker/complete.test.ts"] },
  },
  {
    name: "an unknown commit taken for done",
    file: "src/worker/complete.ts",
    edits: [
      {
        find: "if (unknown !== undefined && (await wasSettled(run))) break;",
        replace: "if (unknown !== undefined) break;",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/complete.test.ts"] },
  },
  {
    name: "a place kept for a claim that is not made stays kept",
    file: "src/worker/claimer.ts",
    edits: [
      {
        find: "    if (reply === undefined) {\n      this.#host.noneComes();\n      return;",
        replace: "    if (reply === undefined) {\n      return;",
      },
    ],
    tiers: ["worker"],
    tests: {
      worker: [
        "test/worker/out-of-reach.test.ts",
        "test/worker/claiming.test.ts",
        "test/worker/suspects.test.ts",
      ],
    },
  },
  {
    name: "a step that is done is run again",
    file: "src/worker/steps.ts",
    edits: [
      {
        find: '    if (isRepeatable && found?.state !== "done") {',
        replace: "    if (isRepeatable) {",
      },
    ],
    tiers: ["simulation", "worker"],
    tests: { worker: ["test/worker/steps.test.ts"] },
  },
];
