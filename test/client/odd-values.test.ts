import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { InvalidArgumentError, UnstorableValueError } from "../../src/errors.ts";
import { onBothStores } from "../support/real-stores.ts";

const ODD = ["a\u0000b", "\ud800", "\udfff\ud800", "\uffff", "\u202eabc\u200f\u2066", "\ufeff"];
const isKept = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

/** What came back; or the class of the refusal, and where it says that the value stood. */
async function outcomeOf(act: () => Promise<unknown>): Promise<unknown> {
  return act().catch((error: unknown) => {
    if (error instanceof UnstorableValueError) return { refused: error.path };
    if (error instanceof InvalidArgumentError) return { refused: /^\S+/.exec(error.message)?.[0] };
    throw error;
  });
}

onBothStores("texts that stores disagree about", (make) => {
  it.each(ODD)(
    "come back as they were, or are refused with their place before anything is written: %j",
    async (text) => {
      const leasehold = (await make()).client();
      const echo = defineJob({ name: "echo", maxAttempts: 1, run: ({ input }: { input: unknown }) => input });
      const kept = isKept(text);
      const places: readonly [string, () => Promise<unknown>, unknown][] = [
        [
          "input.at",
          async () => (await leasehold.get(await leasehold.enqueue(echo, { at: text })))?.input,
          { at: text },
        ],
        [
          "input",
          async () => (await leasehold.get(await leasehold.enqueue(echo, { [text]: 1 })))?.input,
          { [text]: 1 },
        ],
        [
          "queue",
          async () => (await leasehold.get(await leasehold.enqueue(echo, 1, { queue: text })))?.queue,
          text,
        ],
        [
          "resource",
          async () => (await leasehold.get(await leasehold.enqueue(echo, 1, { resource: text })))?.resource,
          text,
        ],
        [
          "unique.key",
          async () =>
            (await leasehold.get(await leasehold.enqueue(echo, 1, { unique: { key: text } })))?.uniqueKey,
          text,
        ],
      ];
      for (const [place, act, back] of places) {
        const outcome = await outcomeOf(act);
        if (kept) expect(outcome, place).toEqual(back);
        else expect(String((outcome as { refused?: unknown }).refused), place).toContain(place);
      }
      if (!kept) expect((await leasehold.list()).jobs).toEqual([]);
    },
  );

  it.each(ODD)(
    "as a result, an error, progress or a line of the log end the run, one way or the other: %j",
    async (text) => {
      const leasehold = (await make()).client();
      const returns = defineJob({
        name: "returns",
        queue: "q",
        maxAttempts: 1,
        run({ log }) {
          log(text);
          return { at: text };
        },
      });
      const throws = defineJob({
        name: "throws",
        queue: "q",
        maxAttempts: 1,
        run() {
          throw new Error(text);
        },
      });
      const returned = await leasehold.enqueue(returns);
      const thrown = await leasehold.enqueue(throws);
      const counts = await leasehold.drain([returns, throws], { renewer: "inline" });
      expect(counts).toMatchObject(isKept(text) ? { completed: 1, failed: 1 } : { completed: 0, failed: 2 });
      expect(await leasehold.get(returned)).toMatchObject(
        isKept(text)
          ? { state: "completed", result: { at: text } }
          : {
              state: "failed",
              error: { name: "UnstorableValueError", message: expect.stringContaining("result.at") },
            },
      );
      const message = text.toWellFormed().replaceAll("\0", "\ufffd");
      expect(await leasehold.get(thrown)).toMatchObject({ state: "failed", error: { message } });
    },
  );
});

onBothStores("inputs that mean nothing", (make) => {
  it.each([0, false, null, "", []])("arrive as they are, and come back as they are: %j", async (value) => {
    const leasehold = (await make()).client();
    const echo = defineJob({ name: "echo", run: ({ input }: { input: unknown }) => input });
    const answer = await leasehold.enqueue(echo, value);
    await leasehold.drain([echo], { renewer: "inline" });
    expect(await leasehold.result(answer)).toEqual(value);
  });

  it("are null where nothing or undefined was given, and refused where JSON has nothing for them", async () => {
    const leasehold = (await make()).client();
    const seen: unknown[] = [];
    const job = defineJob({ name: "job", run: ({ input }: { input: unknown }) => void seen.push(input) });
    await leasehold.enqueue(job, undefined);
    await (leasehold.enqueue as (given: typeof job) => Promise<unknown>).call(leasehold, job);
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -0, 1n, Symbol("s"), () => {}])
      await expect(leasehold.enqueue(job, value)).rejects.toBeInstanceOf(UnstorableValueError);
    await leasehold.drain([job], { renewer: "inline" });
    expect(seen).toEqual([null, null]);
  });
});
