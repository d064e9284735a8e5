import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readKey, readToken, writeKey, writeToken } from "../../../src/destinations/http/headers.ts";
import { generation, leaseLine, owner } from "../../../src/protocol/identity.ts";
import { JOB, leaseOf } from "./world.ts";

const text = fc.string({ unit: "binary", minLength: 1, maxLength: 80 });

describe("the Fencing-Token header", () => {
  it("is a dictionary of Strings", () => {
    expect(writeToken({ token: leaseOf(7, { name: 'für "42"\\' }).token, keyed: true })).toBe(
      'line="lease:f%C3%BCr \\"42\\"\\\\", generation="7", owner="owner-7", keyed',
    );
  });

  it("brings every line, generation and owner back as it was, in ASCII", () => {
    fc.assert(
      fc.property(
        text,
        fc.maxSafeNat(),
        text,
        fc.boolean(),
        fc.boolean(),
        (name, number, who, keyed, advance) => {
          fc.pre(Buffer.byteLength(who) <= 255);
          const token = { line: leaseLine(name), generation: generation(number), owner: owner(who) };
          const header = writeToken({ token, keyed, advance });
          expect(header).toMatch(/^[ -~]*$/);
          expect(new Headers({ header }).get("header")).toBe(header);
          expect(readToken(header)).toEqual({ token, keyed, advance });
        },
      ),
      { examples: [["%41 of 100%", 7, "%", true, false]] },
    );
  });

  it("may have the generation as an Integer, as a sender of another make may write it", () => {
    expect(readToken('line="lease:a", generation=7, owner="A"').token.generation).toBe(7);
  });

  it.each([
    "",
    "7",
    'line="lease:a", generation="7"',
    'line="lease:a", owner="A"',
    'generation="7", owner="A"',
    'line="lease:a", generation="-7", owner="A"',
    'line="lease:a", generation="007", owner="A"',
    'line="lease:a", generation="9007199254740992", owner="A"',
    'line="lease:a", generation=7.5, owner="A"',
    'line="lease:", generation="7", owner="A"',
    'line="job:no-uuid", generation="7", owner="A"',
    'line="account:42", generation="7", owner="A"',
    'line="lease:%ff", generation="7", owner="A"',
    'line=lease:a, generation="7", owner="A"',
    'line="lease:a", generation="7", owner=""',
    `line="lease:${"a".repeat(600)}", generation="7", owner="A"`,
  ])("is refused as %j", (header) => expect(() => readToken(header)).toThrow());

  it("cannot be written for half a surrogate pair, which would come back as another text", () => {
    expect(() => writeToken({ token: leaseOf(1, { name: "\ud800" }).token })).toThrow(/surrogate/);
  });
});

describe("the Idempotency-Key header", () => {
  it("D4 brings every key back as it was", () => {
    expect(writeKey(`job:${JOB}/1/charge`)).toBe(`"job:${JOB}/1/charge"`);
    fc.assert(
      fc.property(text, fc.nat(), (step, run) => {
        const effectScope = `job:${JOB}/${run}`;
        expect(readKey(writeKey(`${effectScope}/${step}`))).toEqual({ effectScope, step });
      }),
    );
  });

  it.each(["", "charge", '"charge"', `job:${JOB}/1/charge`, `"job:${JOB}/1/"`, `"job:${JOB}/charge"`])(
    "is refused as %j",
    (header) => expect(() => readKey(header)).toThrow(),
  );
});
