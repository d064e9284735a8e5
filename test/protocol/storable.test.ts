import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnstorableValueError } from "../../src/errors.ts";
import { MAX_DEPTH, storableJson } from "../../src/protocol/storable.ts";
import { seed } from "../support/seed.ts";

const MAX = 1_048_576;
const json = (value: unknown): string => storableJson(value, "input", MAX);
const refusal = (value: unknown): UnstorableValueError => {
  try {
    json(value);
  } catch (error) {
    if (error instanceof UnstorableValueError) return error;
    throw error;
  }
  throw new Error("It was accepted.");
};
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = { in: value };
  return value;
};

describe("what may be stored", () => {
  it.each([
    [0],
    [false],
    [null],
    [""],
    [[]],
    [{}],
    [1e308],
    [-1.5],
    ["\u{ffff} \u200f\u202e 🙂 \u2028"],
    [{ a: [{ b: [null, true] }] }],
    [{ constructor: 1, toString: "x" }],
  ])("takes %j and gives it back as it was", (value) => {
    expect(JSON.parse(json(value))).toEqual(value);
  });

  it("takes any JSON value there is, but -0, and gives it back", () => {
    const hasMinusZero = (value: unknown): boolean =>
      Object.is(value, -0) ||
      (typeof value === "object" && value !== null && Object.values(value).some(hasMinusZero));
    const values = fc.jsonValue({ stringUnit: "grapheme" }).filter((value) => !hasMinusZero(value));
    fc.assert(
      fc.property(values, (value) => {
        fc.pre(!JSON.stringify(value).includes("__proto__") && !JSON.stringify(value).includes("\\u0000"));
        expect(JSON.parse(json(value))).toEqual(value);
      }),
      { seed },
    );
  });

  it("either refuses a value or gives back the same one, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withSparseArray: true,
          withNullPrototype: true,
          withUnicodeString: true,
        } as never),
        (value) => {
          let text: string;
          try {
            text = json(value);
          } catch (error) {
            expect(error).toBeInstanceOf(UnstorableValueError);
            return;
          }
          // `toEqual` takes a left-out property and one that is undefined for the same, as the contract does.
          expect(JSON.parse(text)).toEqual(value === undefined ? null : value);
        },
      ),
      { seed },
    );
  });

  it("stores undefined as null and leaves out properties that are undefined", () => {
    expect(json(undefined)).toBe("null");
    expect(json({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  it.each([
    ["NUL", { text: "a\0b" }, "input.text", "NUL"],
    ["NUL in a key", { "a\0": 1 }, 'input["a\\u0000"]', "NUL"],
    ["half a surrogate pair", ["ok", "\ud800"], "input[1]", "surrogate"],
    ["a reversed surrogate pair", { x: "\udfff\ud800" }, "input.x", "surrogate"],
    ["half a surrogate pair in a key", { "\udc00": 1 }, "input", "surrogate"],
    ["a BigInt", { items: [{ price: 1n }] }, "input.items[0].price", "BigInt"],
    ["NaN", { n: Number.NaN }, "input.n", "NaN"],
    ["Infinity", [Number.POSITIVE_INFINITY], "input[0]", "Infinity"],
    ["-0", { n: -0 }, "input.n", "-0"],
    ["undefined in an array", { list: [1, undefined] }, "input.list[1]", "undefined"],
    // biome-ignore lint/suspicious/noSparseArray: that is the case
    ["a hole in an array", [1, , 3], "input[1]", "undefined"],
    ["a function", { f() {} }, "input.f", "function"],
    ["a symbol", { s: Symbol("s") }, "input.s", "symbol"],
    ["a symbol as key", { in: { [Symbol("s")]: 1 } }, "input.in", "symbol"],
    ["a Date", { at: new Date(0) }, "input.at", "toISOString"],
    ["a Map", new Map([["a", 1]]), "input", "Map"],
    ["a Set", { of: new Set() }, "input.of", "Set"],
    ["a Buffer", { bytes: Buffer.from("x") }, "input.bytes", "Buffer"],
    ["an instance of a class", { user: new (class User {})() }, "input.user", "User"],
    ["an Error", new TypeError("x"), "input", "TypeError"],
    ["a boxed text", { s: Object("x") }, "input.s", "String"],
    ["a __proto__ key", JSON.parse('{"a":{"__proto__":{"admin":true}}}'), "input.a.__proto__", "not safe"],
  ])("refuses %s, with the path to it", (_what, value, path, words) => {
    const { message, path: at } = refusal(value);
    expect(at.startsWith(path)).toBe(true);
    expect(message).toContain(words);
  });

  it("refuses a cycle at the place that closes it", () => {
    const order: Record<string, unknown> = { lines: [{}] };
    (order["lines"] as Record<string, unknown>[])[0]!["order"] = order;
    expect(refusal(order)).toMatchObject({ path: "input.lines[0].order" });
    expect(refusal(order).message).toContain("contains itself");
  });

  it("takes the same object twice when it is not within itself", () => {
    const shared = { a: 1 };
    expect(JSON.parse(json({ x: shared, y: [shared, shared] }))).toEqual({ x: shared, y: [shared, shared] });
  });

  it("takes what is nested as deep as is allowed, and refuses one level more", () => {
    expect(JSON.parse(json(nested(MAX_DEPTH)))).toEqual(nested(MAX_DEPTH));
    expect(refusal(nested(MAX_DEPTH + 1)).message).toContain(`deeper than ${MAX_DEPTH}`);
    expect(refusal(nested(1_000_000)).message).toContain("deeper");
  });

  it("counts the limit in bytes of the JSON text", () => {
    expect(() => storableJson("é".repeat(49), "input", 100)).not.toThrow();
    expect(() => storableJson("é".repeat(50), "input", 100)).toThrow("102 bytes");
    expect(() => storableJson("x".repeat(98), "input", 100)).not.toThrow();
  });

  it("takes plain objects of another realm, and those without a prototype", () => {
    expect(json(runInNewContext("({ a: [1, {}] })"))).toBe('{"a":[1,{}]}');
    expect(json(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
  });
});
