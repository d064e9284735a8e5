import { describe, expect, it } from "vitest";
import { type JobId, jobLine, leaseLine } from "../../src/protocol/identity.ts";
import {
  brokenBy,
  type Decision,
  i1TokenUnique,
  i3LegalClaim,
  i5EndsOnce,
  i7FenceMonotone,
  i9NoForeignToken,
  i14NobodyStranded,
  i14NothingStuck,
  i15AttemptsBounded,
  i23EndIsTheEnd,
  type Transition,
} from "../../src/protocol/invariants.ts";
import {
  A,
  B,
  fence,
  gen,
  heldLease,
  ID,
  LEASE_MS,
  leasedJob,
  NOW_MS,
  RESOURCE,
  readyJob,
} from "../support/records.ts";

const floor = { epoch: 0, deletedGeneration: gen(0) };
const withResource = leasedJob({ resource: RESOURCE, resourceGeneration: gen(5) });
const base = { nowMs: NOW_MS, floor } as const;
const line = jobLine(ID);

/** A change that no sound store makes, for each way to break a rule of one step. */
const WRONG: readonly (readonly [invariant: string, what: string, transition: Transition])[] = [
  [
    "I2",
    "a reclaim that does not raise",
    {
      ...base,
      operation: "claim",
      before: leasedJob({ leaseUntilMs: NOW_MS }),
      after: leasedJob({ owner: B }),
    },
  ],
  [
    "I2",
    "a raise by two",
    { ...base, operation: "claim", before: readyJob(), after: leasedJob({ generation: gen(2) }) },
  ],
  [
    "I2",
    "a raise below the floor",
    {
      ...base,
      floor: { ...floor, deletedGeneration: gen(9) },
      operation: "claim",
      before: readyJob(),
      after: leasedJob(),
    },
  ],
  [
    "I2",
    "a retry that does not raise",
    {
      ...base,
      operation: "retry",
      before: readyJob({ state: "failed", generation: gen(1) }),
      after: readyJob({ generation: gen(1) }),
    },
  ],
  [
    "I2",
    "a renewal that raises",
    {
      ...base,
      operation: "renew",
      before: leasedJob(),
      after: leasedJob({ generation: gen(2) }),
      fence: fence(),
    },
  ],
  ["I2", "a fall", { ...base, operation: "release", before: leasedJob(), after: readyJob(), fence: fence() }],
  [
    "I2",
    "a heal below the mark",
    {
      ...base,
      operation: "heal",
      before: leasedJob(),
      after: readyJob({ generation: gen(5) }),
      fence: fence(),
      mark: gen(6),
    },
  ],
  [
    "I3",
    "a claim of an unexpired lease",
    { ...base, operation: "claim", before: leasedJob(), after: leasedJob({ generation: gen(2), owner: B }) },
  ],
  [
    "I3",
    "a claim of what is not due",
    { ...base, operation: "claim", before: readyJob({ runAtMs: NOW_MS + 1 }), after: leasedJob() },
  ],
  [
    "I3",
    "a claim of what has ended",
    { ...base, operation: "claim", before: readyJob({ state: "failed" }), after: leasedJob() },
  ],
  [
    "I4",
    "a renewal by a stranger",
    { ...base, operation: "renew", before: leasedJob(), after: leasedJob(), fence: fence({ owner: B }) },
  ],
  [
    "I4",
    "a renewal of what is not leased",
    {
      ...base,
      operation: "renew",
      before: readyJob({ generation: gen(1) }),
      after: leasedJob(),
      fence: fence(),
    },
  ],
  [
    "I4",
    "a renewal that shortens",
    {
      ...base,
      operation: "renew",
      before: leasedJob(),
      after: leasedJob({ leaseUntilMs: NOW_MS + 1 }),
      fence: fence(),
    },
  ],
  [
    "I4",
    "a renewal beyond one lease",
    {
      ...base,
      operation: "renew",
      before: leasedJob(),
      after: leasedJob({ leaseUntilMs: NOW_MS + LEASE_MS + 1 }),
      fence: fence(),
    },
  ],
  [
    "I4",
    "a lease from the future that is kept",
    {
      ...base,
      operation: "renew",
      before: leasedJob({ leaseUntilMs: NOW_MS + 9 * LEASE_MS }),
      after: leasedJob({ leaseUntilMs: NOW_MS + 9 * LEASE_MS }),
      fence: fence(),
    },
  ],
  [
    "I5",
    "an end by an earlier generation",
    {
      ...base,
      operation: "complete",
      before: leasedJob({ generation: gen(2) }),
      after: readyJob({ state: "completed", generation: gen(2) }),
      fence: fence(),
    },
  ],
  [
    "I5",
    "an end by another owner",
    {
      ...base,
      operation: "fail",
      before: leasedJob(),
      after: readyJob({ generation: gen(1) }),
      fence: fence({ owner: B }),
    },
  ],
  [
    "I5",
    "an end from before the last loss",
    {
      ...base,
      floor: { ...floor, epoch: 1 },
      operation: "release",
      before: leasedJob(),
      after: readyJob({ generation: gen(1) }),
      fence: fence(),
    },
  ],
  [
    "I4",
    "a renewal of a run whose resource is another's",
    {
      ...base,
      operation: "renew",
      before: withResource,
      after: withResource,
      fence: fence(),
      lease: heldLease({ owner: B }),
    },
  ],
  [
    "I5",
    "an end of a run whose resource has gone on",
    {
      ...base,
      operation: "complete",
      before: withResource,
      after: readyJob({ state: "completed", generation: gen(1) }),
      fence: fence(),
      lease: heldLease({ generation: gen(6) }),
    },
  ],
  [
    "I19",
    "a pending cancel that is forgotten",
    {
      ...base,
      operation: "release",
      before: leasedJob({ cancelRequested: true }),
      after: readyJob({ generation: gen(1) }),
      fence: fence(),
    },
  ],
  [
    "I6",
    "a change after the end",
    {
      ...base,
      operation: "write",
      before: readyJob({ state: "completed" }),
      after: readyJob({ state: "completed", progress: "1" }),
      fence: fence(),
    },
  ],
];

describe("an invariant of one step", () => {
  it.each(WRONG)("%s finds %s", (invariant, _, transition) => {
    expect(brokenBy(transition).some((broken) => broken.startsWith(`${invariant}:`))).toBe(true);
  });

  it.each<[string, Transition]>([
    ["a first claim", { ...base, operation: "claim", before: readyJob(), after: leasedJob() }],
    [
      "a renewal after expiry",
      {
        ...base,
        operation: "renew",
        before: leasedJob({ leaseUntilMs: NOW_MS - 1 }),
        after: leasedJob(),
        fence: fence(),
      },
    ],
    [
      "a deletion after the end",
      { ...base, operation: "delete", before: readyJob({ state: "completed" }), after: undefined },
    ],
    [
      "a retry",
      {
        ...base,
        operation: "retry",
        before: readyJob({ state: "failed", generation: gen(1) }),
        after: readyJob({ generation: gen(2) }),
      },
    ],
  ])("finds nothing wrong with %s", (_, transition) => {
    expect(brokenBy(transition)).toEqual([]);
  });
});

describe("an invariant of a history", () => {
  const claimed: Transition = {
    ...base,
    operation: "claim",
    before: readyJob({ maxAttempts: 1 }),
    after: leasedJob({ maxAttempts: 1 }),
  };
  const released: Transition = {
    ...base,
    operation: "release",
    before: leasedJob({ maxAttempts: 1 }),
    after: readyJob({ maxAttempts: 1 }),
  };
  const completed: Transition = {
    ...base,
    operation: "complete",
    before: leasedJob(),
    after: readyJob({ state: "completed" }),
  };
  const retried: Transition = {
    ...base,
    operation: "retry",
    before: readyJob({ state: "completed" }),
    after: readyJob({ maxAttempts: 1 }),
  };

  it("I1 finds a token that was granted twice, on one line only", () => {
    const token = { line, generation: gen(1) };
    expect(
      i1TokenUnique([token, { line: leaseLine("x"), generation: gen(1) }, { line, generation: gen(2) }]),
    ).toBeUndefined();
    expect(i1TokenUnique([token, { line, generation: gen(2) }, token])).toMatch(/^I1: /);
  });

  it("I5 finds a second end that no retry lies before", () => {
    expect(i5EndsOnce([completed, retried, completed])).toBeUndefined();
    expect(i5EndsOnce([completed, completed])).toMatch(/^I5: /);
  });

  it("I15 finds one start too many, and counts what was given back and allowed anew", () => {
    expect(i15AttemptsBounded([claimed, released, claimed])).toBeUndefined();
    expect(i15AttemptsBounded([claimed, retried, claimed])).toBeUndefined();
    expect(i15AttemptsBounded([claimed, claimed])).toMatch(/^I15: /);
  });

  it("I14 finds a lease in the past and a due job that waits", () => {
    const boundMs = 1_000;
    expect(
      i14NothingStuck(
        [leasedJob(), readyJob(), readyJob({ runAtMs: NOW_MS + 1 })],
        NOW_MS + boundMs,
        boundMs,
      ),
    ).toBeUndefined();
    expect(i14NothingStuck([leasedJob({ leaseUntilMs: NOW_MS })], NOW_MS, boundMs)).toMatch(/^I14: /);
    expect(i14NothingStuck([readyJob()], NOW_MS + boundMs + 1, boundMs)).toMatch(/^I14: /);
  });
});

describe("an invariant of a destination", () => {
  const decision = (generation: number, owner = A, admitted = true): Decision => ({
    token: { line, generation: gen(generation), owner },
    admitted,
  });

  it("I7 finds a lower token after a higher one, and two owners of one generation", () => {
    expect(
      i7FenceMonotone([decision(7), decision(7), decision(8, B), decision(7, A, false)]),
    ).toBeUndefined();
    expect(i7FenceMonotone([decision(8), decision(7)])).toMatch(/^I7: /);
    expect(i7FenceMonotone([decision(7, A), decision(7, B)])).toMatch(/^I7: /);
  });

  it("I9 finds a token that nobody was granted, refused or not", () => {
    const granted = [{ line, generation: gen(7), owner: A }];
    expect(i9NoForeignToken([decision(7)], granted)).toBeUndefined();
    expect(i9NoForeignToken([decision(7, B, false)], granted)).toMatch(/^I9: /);
  });

  it("I23 finds a higher token admitted after the end, on the job's own line", () => {
    const end = { line, generation: gen(7) };
    expect(i23EndIsTheEnd(end, [decision(7), decision(8, B, false)])).toBeUndefined();
    expect(i23EndIsTheEnd(end, [decision(8, B)])).toMatch(/^I23: /);
    expect(i23EndIsTheEnd({ ...end, line: leaseLine("x") }, [decision(8, B)])).toBeUndefined();
  });
});

describe("I14 for blocked jobs", () => {
  const blocked = readyJob({ blockedBy: 1 });
  const other = readyJob({ jobId: "00000000-0000-4000-8000-000000000002" as JobId });

  it("finds a blocked job that waits for nobody, or for what has completed or is gone", () => {
    for (const waitsFor of [[], [undefined], [{ ...other, state: "completed" as const }]]) {
      expect(i14NobodyStranded([blocked], () => waitsFor)).toMatch(/^I14: .* waits for nobody/);
    }
  });

  it("holds while it waits for a live job, or for a failed one that may be retried", () => {
    for (const state of ["ready", "leased", "failed", "cancelled"] as const) {
      expect(i14NobodyStranded([blocked, other], () => [{ ...other, state }])).toBeUndefined();
    }
  });

  it("finds a job that is blocked and leased", () => {
    expect(i14NobodyStranded([leasedJob({ blockedBy: 1 })], () => [other])).toMatch(/^I14: .* and leased/);
  });
});

describe("I3 for blocked jobs", () => {
  it("finds the claim of a blocked job", () => {
    const before = readyJob({ blockedBy: 1 });
    const claim = { ...base, operation: "claim", before, after: before } as const;
    expect(i3LegalClaim(claim)).toMatch(/^I3/);
    expect(i3LegalClaim({ ...claim, before: readyJob() })).toBeUndefined();
  });
});
