import assert from "node:assert/strict";
import { leaseLine } from "../../protocol/identity.ts";
import { assertEffects, assertMark, assertStale, newJob, refusal, token } from "./fixtures.ts";
import { type DestinationChapter, deduplicated, fenced } from "./harness.ts";

/** Each differs from every other one, though some only to a careful reader. */
const ODD = [
  "it's",
  'a "quoted" one',
  "a/b/c",
  "../../etc/passwd",
  "a\\b",
  "a:b",
  "%2e%2e%2f",
  "a%00b",
  "; drop table marks; --",
  "$1",
  "{{}}",
  "__proto__",
  "constructor",
  "Straße",
  "e\u0301",
  "é",
  "漢字 👩‍🚀",
  "x",
  "X",
  " x",
  "x ",
  "*",
  "null",
  "0",
  "y".repeat(200),
  `${"y".repeat(199)}z`,
];

export const namesChapter: DestinationChapter = {
  name: "names",
  tests: [
    fenced("lines of every name are told apart", async (world) => {
      for (const [n, name] of ODD.entries())
        await world.writer.write(token(leaseLine(name), n + 2), {}, name);
      for (const [n, name] of ODD.entries()) {
        const line = leaseLine(name);
        await assertMark(world, token(line, n + 2));
        await assertEffects(world, line, [name]);
        await assertStale(
          world.writer.write(token(line, n + 1), {}, "late"),
          token(line, n + 1),
          token(line, n + 2),
        );
      }
    }),

    fenced("owners of every name are told apart", async (world) => {
      for (const [n, name] of ODD.entries()) {
        const { line } = newJob();
        await world.writer.write(token(line, 1, name), {}, name);
        const other = token(line, 1, ODD[(n + 1) % ODD.length]);
        await assertStale(world.writer.write(other, {}, "late"), other, token(line, 1, name));
        await world.writer.write(token(line, 1, name), {}, "again");
      }
    }),

    deduplicated("steps of every name are told apart", async (world) => {
      const { line, scope } = newJob();
      const answers: string[] = [];
      for (const step of ODD)
        answers.push((await world.writer.write(token(line, 1), { step, scope }, step)).answer);
      for (const [n, step] of ODD.entries()) {
        const { answer } = await world.writer.write(token(line, 1), { step, scope }, "again");
        assert.equal(answer, answers[n], step);
      }
      await assertEffects(world, line, ODD);
    }),

    deduplicated("a step that cannot be a key is bad input, and writes nothing", async (world) => {
      const { line, scope } = newJob();
      for (const step of ["", "z".repeat(201), "a\nb", "a\u0000b", "\u007f"])
        await refusal(world.writer.write(token(line, 1), { step, scope }, "bad"), "LH_INVALID_ARGUMENT");
      await assertEffects(world, line, []);
      assert.equal(await world.writer.markOf(line), undefined);
    }),

    deduplicated("a step without a run to belong to is bad input, and writes nothing", async (world) => {
      const line = leaseLine("nightly");
      await refusal(world.writer.write(token(line, 1), { step: "mail" }, "bad"), "LH_INVALID_ARGUMENT");
      await assertEffects(world, line, []);
    }),
  ],
};
