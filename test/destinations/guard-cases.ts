/** What holds for every destination that is a database with transactions. */

import { describe, expect, it } from "vitest";
import type { EffectLease, Guard } from "../../src/destinations/destination.ts";
import type { Pruned } from "../../src/destinations/pruned.ts";
import { EffectMismatchError, PrunedLineError, StaleTokenError } from "../../src/destinations/refusals.ts";
import { InvalidArgumentError, UnstorableValueError } from "../../src/errors.ts";
import { admit } from "../../src/protocol/destination-rule.ts";
import { type Generation, type JobId, jobLine, type Line, type Owner } from "../../src/protocol/identity.ts";

/** What both have that a body can write with. */
export interface Tx {
  query<Row>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

export interface GuardWorld {
  readonly guard: Guard<Tx> & { prune(below: JobId, limit?: number): Promise<Pruned> };
  /** The values of the table `effect (value)`, in the order in which they were written. */
  effects(): Promise<string[]>;
}

const JOB = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11" as JobId;
export const LATER_JOB = "0198c5a4-6b1f-7000-8000-000000000000" as JobId;

export function lease(number: number, name = "a", id: JobId = JOB, run = 1): EffectLease {
  const token = { line: jobLine(id), generation: number as Generation, owner: name as Owner };
  return { token, effectScope: `job:${id}/${run}` };
}

export const insert =
  (value: string) =>
  async (tx: Tx): Promise<{ written: string }> => {
    await tx.query("insert into effect (value) values ($1)", [value]);
    return { written: value };
  };

export function guardCases(world: () => Promise<GuardWorld>): void {
  describe("D2 a token", () => {
    const tokens = [4, 5, 6].flatMap((number) => ["a", "b"].map((name) => lease(number, name)));
    it.each(tokens)("is admitted or refused by the rule: %o", async (shown) => {
      const { guard, effects } = await world();
      await guard.advance(lease(5, "a"));
      const mark = await guard.markOf(shown.token.line);
      const { admitted } = admit(mark, shown.token);
      const write = guard.write(shown, {}, insert("x"));
      if (admitted) expect(await write).toEqual({ written: "x" });
      else await expect(write).rejects.toThrow(StaleTokenError);
      expect(await effects()).toEqual(admitted ? ["x"] : []);
      const { generation, owner } = admitted ? shown.token : lease(5, "a").token;
      expect(await guard.markOf(shown.token.line)).toEqual({ generation, owner });
    });

    it("is refused with the mark, and with both generations in words", async () => {
      const { guard } = await world();
      await guard.advance(lease(7, "b"));
      const refusal: unknown = await guard.write(lease(6), {}, insert("x")).catch((error) => error);
      expect(refusal).toMatchObject({ code: "LH_STALE_TOKEN", mark: { generation: 7, owner: "b" } });
      expect((refusal as Error).message).toContain("generation 6 refused, the destination has seen 7.");
    });

    it("keeps its value up to 2^53 − 1", async () => {
      const { guard } = await world();
      for (const number of [2 ** 32 - 1, 2 ** 32, 2 ** 53 - 2, 2 ** 53 - 1]) {
        await guard.advance(lease(number));
        expect(await guard.markOf(jobLine(JOB))).toEqual({ generation: number, owner: "a" });
        await expect(guard.advance(lease(number - 1))).rejects.toThrow(StaleTokenError);
      }
      await expect(guard.advance(lease(2 ** 53))).rejects.toThrow(InvalidArgumentError);
    });

    it("is asked for trust before anything is sent (W5)", async () => {
      const { guard } = await world();
      const distrusted: EffectLease = {
        ...lease(1),
        assertTrusted() {
          throw new Error("not trusted");
        },
      };
      await expect(guard.write(distrusted, {}, insert("x"))).rejects.toThrow("not trusted");
      expect(await guard.markOf(jobLine(JOB))).toBeUndefined();
    });

    it("of one line says nothing about another's, whatever the names", async () => {
      const { guard, effects } = await world();
      const named = (line: string, number: number): EffectLease => ({
        token: { line: line as Line, generation: number as Generation, owner: "a" as Owner },
        effectScope: null,
      });
      const hostile = `lease:'; drop table effect; -- "é\\ %_`;
      await guard.advance(named(hostile, 9));
      await guard.write(named(`${hostile} `, 1), {}, insert("x"));
      expect(await guard.markOf(hostile as Line)).toEqual({ generation: 9, owner: "a" });
      expect(await effects()).toEqual(["x"]);
    });
  });

  it("D3 advance keeps the earlier owner out from then on", async () => {
    const { guard, effects } = await world();
    await guard.write(lease(1), {}, insert("before"));
    await guard.advance(lease(2, "b"));
    await expect(guard.write(lease(1), {}, insert("late"))).rejects.toThrow(StaleTokenError);
    expect(await effects()).toEqual(["before"]);
  });

  describe("D4 an effect with a step", () => {
    it("is made once, and its first answer given back to every later owner, who raises the mark", async () => {
      const { guard, effects } = await world();
      const first = await guard.write(lease(1), { step: "charge" }, insert("first"));
      const second = await guard.write(lease(2, "b"), { step: "charge" }, insert("second"));
      expect([first, second]).toEqual([{ written: "first" }, { written: "first" }]);
      expect(await effects()).toEqual(["first"]);
      expect(await guard.markOf(jobLine(JOB))).toEqual({ generation: 2, owner: "b" });
    });

    it("gives the same back the first time as later", async () => {
      const { guard } = await world();
      const body = () => ({ left: undefined, text: 'é "\\ \u2028', n: 1e21 });
      const answers = [1, 2].map((number) => () => guard.write(lease(number), { step: "s" }, body));
      const [first, second] = [await answers[0]?.(), await answers[1]?.()];
      expect(JSON.stringify(second)).toBe(JSON.stringify(first));
      expect(Object.keys(first ?? {})).toEqual(["text", "n"]);
    });

    it("is a new one in the next run, and under another step", async () => {
      const { guard, effects } = await world();
      await guard.write(lease(1), { step: "s" }, insert("1 s"));
      await guard.write(lease(1), { step: "t" }, insert("1 t"));
      await guard.write(lease(2, "b", JOB, 2), { step: "s" }, insert("2 s"));
      expect(await effects()).toEqual(["1 s", "1 t", "2 s"]);
    });

    it("asks the fence first: a lower token is refused though its answer is stored", async () => {
      const { guard } = await world();
      await guard.write(lease(1), { step: "s" }, insert("x"));
      await guard.advance(lease(2, "b"));
      await expect(guard.write(lease(1), { step: "s" }, insert("x"))).rejects.toThrow(StaleTokenError);
    });

    it("is refused with another request than the first, and raises no mark", async () => {
      const { guard, effects } = await world();
      const write = (number: number, request: unknown) =>
        guard.write(lease(number), { step: "s", request }, insert("x"));
      await write(1, { to: "a", cents: 5 });
      await write(1, { cents: 5, to: "a" });
      await expect(write(2, { to: "a", cents: 6 })).rejects.toThrow(EffectMismatchError);
      await expect(write(2, undefined)).rejects.toThrow(EffectMismatchError);
      expect(await effects()).toEqual(["x"]);
      expect(await guard.markOf(jobLine(JOB))).toMatchObject({ generation: 1 });
    });

    it("leaves nothing when it throws: no effect, no answer, no mark", async () => {
      const { guard, effects } = await world();
      const failing = guard.write(lease(1), { step: "s" }, async (tx) => {
        await insert("undone")(tx);
        throw new Error("the body's own");
      });
      await expect(failing).rejects.toThrow("the body's own");
      expect(await effects()).toEqual([]);
      expect(await guard.markOf(jobLine(JOB))).toBeUndefined();
      await guard.write(lease(1), { step: "s" }, insert("done"));
      expect(await effects()).toEqual(["done"]);
    });

    it("is undone when its answer would not survive", async () => {
      const { guard, effects } = await world();
      const write = guard.write(lease(1), { step: "s" }, async (tx) => {
        await insert("undone")(tx);
        return new Date(0);
      });
      await expect(write).rejects.toThrow(UnstorableValueError);
      expect(await effects()).toEqual([]);
    });

    it.each(["", "a\nb", "\ud800", "x".repeat(201), 7])(
      "has a name that can be a key, which %j cannot",
      async (step) => {
        const { guard, effects } = await world();
        const write = guard.write(lease(1), { step: step as string }, insert("x"));
        await expect(write).rejects.toThrow(InvalidArgumentError);
        expect(await effects()).toEqual([]);
      },
    );

    it("needs a run: a named lease has none", async () => {
      const { guard } = await world();
      const named = { ...lease(1), effectScope: null };
      await expect(guard.write(named, { step: "s" }, insert("x"))).rejects.toThrow(InvalidArgumentError);
    });
  });

  describe("D7 pruning", () => {
    it("gives marks and answers up in pieces, and refuses what comes late for a pruned job", async () => {
      const { guard, effects } = await world();
      await guard.write(lease(5), { step: "s" }, insert("old"));
      await guard.write(lease(5), { step: "t" }, insert("old"));
      await guard.write(lease(1, "a", LATER_JOB), { step: "s" }, insert("new"));
      const removed = { marks: 0, answers: 0 };
      for (let isDone = false; !isDone; ) {
        const pruned = await guard.prune(LATER_JOB, 1);
        removed.marks += pruned.marks;
        removed.answers += pruned.answers;
        isDone = pruned.isDone;
      }
      expect(removed).toEqual({ marks: 1, answers: 2 });
      await expect(guard.write(lease(6), {}, insert("late"))).rejects.toThrow(PrunedLineError);
      expect(await guard.markOf(jobLine(JOB))).toBeUndefined();
      await guard.write(lease(2, "b", LATER_JOB), { step: "s" }, insert("again"));
      expect(await effects()).toEqual(["old", "old", "new"]);
    });

    it("never goes back", async () => {
      const { guard } = await world();
      await guard.prune(LATER_JOB);
      await guard.prune(JOB);
      await expect(guard.advance(lease(1))).rejects.toThrow(PrunedLineError);
    });

    it("leaves named leases alone", async () => {
      const { guard } = await world();
      const named = { token: { ...lease(3).token, line: "lease:a" as Line }, effectScope: null };
      await guard.advance(named);
      await guard.prune("ffffffff-ffff-7fff-bfff-ffffffffffff" as JobId);
      expect(await guard.markOf("lease:a" as Line)).toMatchObject({ generation: 3 });
      await guard.advance({ ...named, token: { ...named.token, line: "lease:b" as Line } });
    });
  });

  it("D9 the probe is refused where it should be, each time, and leaves no mark", async () => {
    const { guard } = await world();
    expect(await guard.probe()).toEqual({ isProven: true });
    expect(await guard.probe()).toEqual({ isProven: true });
  });
}
