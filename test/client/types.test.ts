import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  defineJob,
  isJobDefinition,
  type JobDefinition,
  Leasehold,
  type RunContext,
} from "../../src/index.ts";
import { memory } from "../../src/stores/memory/index.ts";

const leasehold = new Leasehold({ store: memory() });
const parsing = defineJob({
  name: "parsing",
  input: z.object({ at: z.coerce.date(), n: z.number().default(1) }),
  result: z.object({ ok: z.boolean().transform(String) }),
  resource: ({ at }) => {
    expectTypeOf(at).toEqualTypeOf<Date>();
    return undefined;
  },
  run({ input }) {
    expectTypeOf(input).toEqualTypeOf<{ at: Date; n: number }>();
    return { ok: true };
  },
});
const annotated = defineJob({
  name: "annotated",
  run: async ({ input }: RunContext<{ path: string }>) => input.path.length,
});
const bare = defineJob({ name: "bare", run: () => {} });

// Never called: only the compiler reads these.
async function types(): Promise<void> {
  const answer = await leasehold.enqueue(parsing, { at: "2026-01-01" });
  expectTypeOf(await leasehold.result(answer)).toEqualTypeOf<{ ok: string }>();
  expectTypeOf(
    await leasehold.result(await leasehold.enqueue(annotated, { path: "x" })),
  ).toEqualTypeOf<number>();
  expectTypeOf(await leasehold.result("id")).toEqualTypeOf<unknown>();
  await leasehold.enqueue(bare);
  // @ts-expect-error the input is not optional
  await leasehold.enqueue(annotated);
  // @ts-expect-error nor of another type
  await leasehold.enqueue(annotated, { path: 1 });
  const wrong = { path: 1 };
  // @ts-expect-error a member of enqueueMany carries its own job's input
  await leasehold.enqueueMany([{ job: bare }, { job: annotated, input: wrong }]);
  await leasehold.enqueueMany([{ job: annotated, input: { path: "x" }, delayMs: 5 }, { job: bare }]);
  await leasehold.enqueueMany(["a", "b"].map((path) => ({ job: annotated, input: { path } })));
  expectTypeOf(await leasehold.cancel("id")).not.toBeArray();
  expectTypeOf(await leasehold.cancel(["id"])).toBeArray();
  leasehold.work([parsing, annotated, bare]);
}

describe("types", () => {
  it("flow from the definition to enqueue, run and result", () => {
    expectTypeOf(types).toBeFunction();
    const jobs: JobDefinition[] = [parsing, annotated, bare];
    expectTypeOf(jobs).toBeArray();
    for (const job of jobs) if (!isJobDefinition(job)) throw new Error("not a job");
  });
});
