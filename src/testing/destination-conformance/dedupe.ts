import assert from "node:assert/strict";
import { assertEffects, assertMark, assertStale, newJob, part, refusal, token } from "./fixtures.ts";
import { both, type DestinationTest, deduplicated } from "./harness.ts";

export const dedupe: readonly DestinationTest[] = [
  deduplicated("D4 a repeat gets the first answer, byte for byte, and lands once", async (world) => {
    const { line, scope } = newJob();
    for (const effect of ["plain", 'quo"te \\ \n line', "żółć 漢字 👩‍🚀 e\u0301 é", "\u2028</script>", " "]) {
      const options = { step: `step ${effect.length}`, scope };
      const first = await world.writer.write(token(line, 1), options, effect);
      for (const writer of [world.writer, await world.another()])
        assert.deepEqual(await writer.write(token(line, 1), options, "another effect"), first);
    }
    assert.equal((await world.effects(line)).length, 5);
  }),

  deduplicated("D4 effects of two steps have answers of their own", async (world) => {
    const { line, scope } = newJob();
    const one = await world.writer.write(token(line, 1), { step: "one", scope }, "1");
    const two = await world.writer.write(token(line, 1), { step: "two", scope }, "2");
    assert.notEqual(one.answer, two.answer);
    await assertEffects(world, line, ["1", "2"]);
  }),

  deduplicated("D4 a repeat by the next generation gets the first one's answer", async (world) => {
    const { line, scope } = newJob();
    const options = { step: "mail", scope, request: { to: "Ada" } };
    const first = await world.writer.write(token(line, 7), options, "first");
    assert.deepEqual(await (await world.another()).write(token(line, 8), options, "second"), first);
    await assertEffects(world, line, ["first"]);
  }),

  both("D4 a replay is an admitted token: it raises the mark", async (world) => {
    const { line, scope } = newJob();
    await world.writer.write(token(line, 7), { step: "mail", scope }, "first");
    await world.writer.write(token(line, 8), { step: "mail", scope }, "second");
    await assertMark(world, token(line, 8));
    await assertStale(world.writer.write(token(line, 7), {}, "late"), token(line, 7), token(line, 8));
  }),

  both("D4 a lower token is refused even if its answer is stored", async (world) => {
    const { line, scope } = newJob();
    const options = { step: "mail", scope };
    await world.writer.write(token(line, 7), options, "first");
    await world.writer.advance(token(line, 8));
    await assertStale(world.writer.write(token(line, 7), options, "late"), token(line, 7), token(line, 8));
    const other = token(line, 8, "other");
    await assertStale(world.writer.write(other, options, "late"), other, token(line, 8));
    await assertEffects(world, line, ["first"]);
  }),

  deduplicated(
    "D4 the same key with another request is an error, and the first answer stays",
    async (world) => {
      const { line, scope } = newJob();
      const options = { step: "mail", scope, request: { to: "Ada", lines: [1, 2] } };
      const first = await world.writer.write(token(line, 1), options, "first");
      for (const request of [
        { to: "Bob", lines: [1, 2] },
        { to: "Ada", lines: [2, 1] },
        { to: "Ada" },
        null,
        undefined,
      ]) {
        const call = world.writer.write(token(line, 1), { ...options, request }, "other");
        const told = await refusal(call, "LH_EFFECT_MISMATCH");
        assert.ok(told.key?.includes("mail"), `the error names the step: ${told.key}`);
      }
      assert.deepEqual(await world.writer.write(token(line, 1), options, "again"), first);
      await assertEffects(world, line, ["first"]);
    },
  ),

  both(
    "D4 a request is not looked at before the token: a lower one is told that it is stale",
    async (world) => {
      const { line, scope } = newJob();
      await world.writer.write(token(line, 8), { step: "mail", scope, request: 1 }, "first");
      const call = world.writer.write(token(line, 7), { step: "mail", scope, request: 2 }, "late");
      await assertStale(call, token(line, 7), token(line, 8));
    },
  ),

  deduplicated("D4 a request is what it says, in whatever order its members come", async (world) => {
    const { line, scope } = newJob();
    const write = (request: object, effect: string) =>
      world.writer.write(token(line, 1), { step: "mail", scope, request }, effect);
    const first = await write({ to: "Ada", at: { day: 1, hour: 2 } }, "first");
    assert.deepEqual(await write({ at: { hour: 2, day: 1 }, to: "Ada" }, "second"), first);
  }),

  deduplicated(
    "D4 a key is of its run: the same step of another run or job is another effect",
    async (world) => {
      const [a, b] = [newJob(), newJob()];
      await world.writer.write(token(a.line, 1), { step: "mail", scope: a.scope }, "run 1");
      await world.writer.write(token(a.line, 2), { step: "mail", scope: `job:${a.id}/2` }, "run 2");
      await world.writer.write(token(b.line, 1), { step: "mail", scope: b.scope }, "other job");
      await assertEffects(world, a.line, ["run 1", "run 2"]);
      await assertEffects(world, b.line, ["other job"]);
    },
  ),

  deduplicated("D4 an effect without a step lands as often as it is made", async (world) => {
    const { line } = newJob();
    await world.writer.write(token(line, 1), {}, "once");
    await world.writer.write(token(line, 1), {}, "once");
    await assertEffects(world, line, ["once", "once"]);
  }),

  deduplicated("D4 an effect that rolled back leaves no record: the next one makes it", async (world) => {
    const { line, scope } = newJob();
    const options = { step: "mail", scope, request: 1 };
    await assert.rejects(part(world, "failInside")(token(line, 1), options, "undone"));
    await assertEffects(world, line, []);
    // Nor of its request: the next one may ask for something else.
    await world.writer.write(token(line, 1), { ...options, request: 2 }, "done");
    await assertEffects(world, line, ["done"]);
  }),

  both(
    "D4 an effect that rolled back leaves no mark: who is current meanwhile still writes",
    async (world) => {
      const { line, scope } = newJob();
      await world.writer.write(token(line, 7), {}, "seven");
      await assert.rejects(part(world, "failInside")(token(line, 8), { step: "mail", scope }, "undone"));
      await assertMark(world, token(line, 7));
      await world.writer.write(token(line, 7), { step: "mail", scope }, "mail");
      await assertEffects(world, line, ["seven", "mail"]);
    },
  ),
];
