import { expect, it } from "vitest";
import { StaleTokenError } from "../../../src/destinations/refusals.ts";
import { generation, type Line, owner } from "../../../src/protocol/identity.ts";
import { refusedMark } from "../../../src/worker/healing.ts";
import { arrived, carried } from "../../../src/worker/isolation/carried-error.ts";

it("a refusal from another process tells the mark by which the store is healed (D6)", () => {
  const token = { line: "job:1" as Line, generation: generation(7), owner: owner("a") };
  const refusal = new StaleTokenError(token, { generation: generation(8), owner: owner("b") });
  const wrapped = new Error("the write failed", { cause: refusal });
  const there = arrived(JSON.parse(JSON.stringify(carried(wrapped))));
  expect(refusedMark(there, token)).toBe(8);
  expect(refusedMark(there, { ...token, generation: generation(6) })).toBeUndefined();
});
