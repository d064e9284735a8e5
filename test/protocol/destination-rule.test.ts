import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admit, type Mark } from "../../src/protocol/destination-rule.ts";
import { jobLine, type Owner } from "../../src/protocol/identity.ts";
import { type Decision, i7FenceMonotone } from "../../src/protocol/invariants.ts";
import { A, B, gen, ID } from "../support/records.ts";
import { seed } from "../support/seed.ts";

const mark: Mark = { generation: gen(7), owner: A };

describe("a destination (D2)", () => {
  it("admits a higher generation and raises its mark", () => {
    expect(admit(mark, { generation: gen(8), owner: B })).toEqual({ admitted: true, raises: true });
  });

  it("admits the same generation of the same owner, and leaves the mark", () => {
    expect(admit(mark, mark)).toEqual({ admitted: true, raises: false });
  });

  it("refuses the same generation of another owner", () => {
    expect(admit(mark, { generation: gen(7), owner: B })).toEqual({ admitted: false });
  });

  it("refuses 7 after 8, also of the same owner", () => {
    expect(admit({ generation: gen(8), owner: A }, { generation: gen(7), owner: A })).toEqual({
      admitted: false,
    });
  });

  it("makes a missing mark by its first token", () => {
    expect(admit(undefined, mark)).toEqual({ admitted: true, raises: true });
  });

  it("keeps I7 in whatever order tokens arrive", () => {
    const tokens = fc.array(
      fc.record({ generation: fc.integer({ min: 0, max: 9 }).map(gen), owner: fc.constantFrom<Owner>(A, B) }),
    );
    fc.assert(
      fc.property(tokens, (arriving) => {
        let current: Mark | undefined;
        const decisions = arriving.map((token): Decision => {
          const admission = admit(current, token);
          if (admission.admitted && admission.raises) current = token;
          return { token: { line: jobLine(ID), ...token }, admitted: admission.admitted };
        });
        expect(i7FenceMonotone(decisions)).toBeUndefined();
      }),
      { seed },
    );
  });
});
