import { expect, it } from "vitest";
import { printable, printableJson } from "../src/printable.ts";

it("shows control codes and lets none through, but for tab and newline", () => {
  expect(printable("a\u001b[31mb\u0007\u009b2J\tc\nd é 漢 😀")).toBe("a\\x1b[31mb\\x07\\x9b2J\tc\nd é 漢 😀");
});

it("keeps JSON the same JSON", () => {
  const value = { text: "a\u001b\u007f\u009b\u2028 é" };
  const text = printableJson(JSON.stringify(value));
  expect(JSON.parse(text)).toEqual(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});
