import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validate, version } from "uuid";
import { afterAll, describe, expect, it } from "vitest";
import { lineIds } from "../../src/cli/batch/ids.ts";
import { LONGEST_LINE_BYTES, linesOf } from "../../src/cli/batch/lines.ts";

const directory = mkdtempSync(join(tmpdir(), "leasehold-lines-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function read(content: string | Buffer): Promise<unknown[]> {
  const path = join(directory, "lines.ndjson");
  writeFileSync(path, content);
  const lines: unknown[] = [];
  for await (const line of linesOf(path)) lines.push(line);
  return lines;
}

describe("lines", () => {
  it("are numbered as editors number them, and blank ones are passed over", async () => {
    expect(await read("1\n\n  \n2\r\n3")).toEqual([
      { number: 1, text: "1" },
      { number: 4, text: "2" },
      { number: 5, text: "3" },
    ]);
  });

  it("are none in an empty file", async () => expect(await read("")).toEqual([]));

  it("begin after a byte order mark", async () =>
    expect(await read("\uFEFF{}\n")).toEqual([{ number: 1, text: "{}" }]));

  it("end at a newline only, not at other separators of Unicode", async () => {
    expect(await read('"a\u2028b"\n2')).toEqual([
      { number: 1, text: '"a\u2028b"' },
      { number: 2, text: "2" },
    ]);
  });

  it("may be longer than one read from the disk", async () => {
    const long = JSON.stringify("x".repeat(300_000));
    expect(await read(`${long}\n1`)).toEqual([
      { number: 1, text: long },
      { number: 2, text: "1" },
    ]);
  });

  it("that are not UTF-8 are told, and the next ones are read", async () => {
    const bytes = Buffer.concat([Buffer.from('1\n"'), Buffer.from([0xff]), Buffer.from('"\n3\n')]);
    expect(await read(bytes)).toEqual([
      { number: 1, text: "1" },
      { number: 2, problem: "it is not UTF-8" },
      { number: 3, text: "3" },
    ]);
  });

  it("that have no end are given up", async () => {
    const lines = await read(Buffer.alloc(LONGEST_LINE_BYTES + 70_000, "x"));
    expect(lines).toEqual([{ number: 1, problem: expect.stringMatching(/longer than/) }]);
  });
});

describe("the ids of lines", () => {
  const ids = (lines: readonly string[], batch = "batch", job?: string): string[] =>
    lines.map(lineIds(batch, job));

  it("are version 5 UUIDs, the same in every run", () => {
    const [id = ""] = ids(["{}"]);
    expect(validate(id) && version(id)).toBe(5);
    expect(ids(["{}"])).toEqual([id]);
  });

  // A change here would make every batch that is under way begin anew.
  it("never change from one version of leasehold to the next", () => {
    expect(ids(["{}", "{}"])).toMatchInlineSnapshot(`
      [
        "a57c0626-5f3c-5ad7-887a-ea9bdddc6a64",
        "9267b8ba-9a39-5463-8006-5106f2046bf7",
      ]
    `);
  });

  it("tell equal lines apart by their ordinal", () => expect(new Set(ids(["1", "1", "1"])).size).toBe(3));

  it("depend on the batch, and on --job", () => {
    const all = [...ids(["1"], "a"), ...ids(["1"], "b"), ...ids(["1"], "a", "x"), ...ids(["1"], "a", "y")];
    expect(new Set(all).size).toBe(4);
  });

  it("stay when lines are moved, added or removed", () => {
    const before = ids(["1", "2", "2"]);
    const after = ids(["2", "0", "2", "1"]);
    expect(after).toEqual(expect.arrayContaining(before));
  });
});
