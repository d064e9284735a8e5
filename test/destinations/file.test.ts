import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { file, StaleTokenError } from "../../src/destinations/file/index.ts";
import { type FencingToken, generation, leaseLine, owner } from "../../src/protocol/identity.ts";
import { destinationConformance } from "../../src/testing/index.ts";
import { Child } from "../support/child.ts";
import { fileHarness, leaseOf } from "../support/file-destination-harness.ts";

destinationConformance({ describe, it }, "the file destination", fileHarness);

const CHILD = fileURLToPath(new URL("../support/file-destination-child.js", import.meta.url));
const LINE = leaseLine("report");
const token = (number: number): FencingToken => ({
  line: LINE,
  generation: generation(number),
  owner: owner(number === 2 ? "child" : `owner of ${number}`),
});

describe("a file", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "leasehold-file-"));
    path = join(folder, "report.csv");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("stays an ordinary file with its mode, and what was there before can be read by the first write", async () => {
    writeFileSync(path, "old");
    chmodSync(path, 0o640);
    await file(path).write(leaseOf(token(1)), (current) => `${current} and new`);
    expect(readFileSync(path, "utf8")).toBe("old and new");
    expect(statSync(path).mode & 0o777).toBe(0o640);
    await file(path).write(leaseOf(token(1)), new Uint8Array([0, 255]));
    expect([...readFileSync(path)]).toEqual([0, 255]);
  });

  it("leaves nothing behind but the marks, however often it is written and probed", async () => {
    const destination = file(path);
    for (let number = 1; number <= 5; number += 1) await destination.write(leaseOf(token(1)), `${number}`);
    await destination.probe();
    expect(readdirSync(folder).sort()).toEqual(["report.csv", "report.csv.fence"]);
    expect(readdirSync(`${path}.fence`)).toHaveLength(2);
  });

  it("D1 is never torn: a writer killed between its calls, or within one, leaves the old content or the new, with its mark", async () => {
    await file(path).write(leaseOf(token(1)), "before");
    let outcomes = "";
    for (let call = 1, wasKilled = true; wasKilled; call += 2) {
      rmSync(`${path}.fence`, { recursive: true });
      writeFileSync(path, "before");
      await file(path).advance(leaseOf(token(1)));
      const child = new Child(CHILD, ["kill", path, call]);
      wasKilled = (await child.exited) === null;
      const seen = readFileSync(path, "utf8");
      const mark = await file(path).markOf(LINE);
      const content = readFileSync(path, "utf8");
      expect([`before 1`, `by the child 2`]).toContain(`${content} ${mark?.generation}`);
      if (seen !== content) expect([seen, content]).toEqual(["before", "by the child"]);
      outcomes += content === "before" ? "-" : "+";
      await file(path).write(leaseOf(token(3)), "after");
      expect(readFileSync(path, "utf8")).toBe("after");
      await expect(file(path).write(leaseOf(token(2)), "late")).rejects.toThrow(StaleTokenError);
    }
    expect(outcomes).toMatch(/^-{2,}\+{2,}$/); // one call decides, and others come before it and after it
  });

  it("D1 is not brought back: a writer stopped before any of its calls, and succeeded meanwhile, changes nothing", async () => {
    const stops = 26; // an undisturbed write has some more calls
    const outcomes = new Set<string>();
    for (let call = 1; call <= stops; call += 1) await file(`${path}-${call}`).advance(leaseOf(token(1)));
    const child = new Child(CHILD, ["stop", path, stops]);
    for (let call = 1; call <= stops; call += 1) {
      await child.tells(`stopped ${call}`);
      // So far it looks as if it had been killed.
      const mark = await file(`${path}-${call}`).markOf(LINE);
      const content = existsSync(`${path}-${call}`) ? readFileSync(`${path}-${call}`, "utf8") : "nothing";
      expect(["nothing 1", "by the child 2"]).toContain(`${content} ${mark?.generation}`);
      // Several, so that the folder of the version which the child knew is gone.
      for (const content of ["a", "b", "by the successor"])
        await file(`${path}-${call}`).write(leaseOf(token(3)), content);
      child.process.send("go on");
      outcomes.add((await child.tells(`ended ${call}`)) as string);
      expect(readFileSync(`${path}-${call}`, "utf8"), `stopped before call ${call}`).toBe("by the successor");
      expect((await file(`${path}-${call}`).markOf(LINE))?.generation).toBe(3);
    }
    await child.exited;
    expect([...outcomes]).toEqual(["LH_STALE_TOKEN", "written"]);
  });

  it("refuses to write where somebody cleared the marks' folder in part, instead of trying for ever", async () => {
    await file(path).write(leaseOf(token(1)), "before");
    for (const name of readdirSync(`${path}.fence`))
      if (name !== "root") rmSync(join(`${path}.fence`, name), { recursive: true });
    await expect(file(path).write(leaseOf(token(2)), "after")).rejects.toThrow("ENOENT");
    expect(readFileSync(path, "utf8")).toBe("before");
  });

  it("clears away what killed writers left", async () => {
    await file(path).write(leaseOf(token(1)), "before");
    const left = join(`${path}.fence`, "left");
    for (let number = 0; number < 20; number += 1) {
      mkdirSync(`${left}-${number}`);
      writeFileSync(join(`${left}-${number}`, "content"), "half");
    }
    await file(path).write(leaseOf(token(1)), "after");
    expect(readdirSync(`${path}.fence`)).toHaveLength(2);
    expect(existsSync(`${left}-0`)).toBe(false);
    await file(path).write(leaseOf(token(1)), "at last");
    expect(readFileSync(path, "utf8")).toBe("at last");
  });
});
