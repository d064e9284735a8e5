import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nodeBinaries } from "../support/nodes.ts";
import { optional } from "../support/optional.ts";
import { CLI, cli, file, folder, startProcess } from "./support.ts";

// Erasable syntax alone: Node 22.18 and newer load this themselves.
const ERASABLE = `
import { defineJob, FinalError, type RunContext } from "leasehold";
import { shout } from "./shout.ts";
interface Input { readonly word: string }
export const job = defineJob({
  name: "ts",
  run({ input }: RunContext<Input>): void {
    console.log(shout(input.word));
    throw new FinalError("once is enough");
  },
});`;

// An enum and a specifier of the compiled file: beyond what Node strips.
const BEYOND = `
import { defineJob, FinalError, isJobDefinition, LeaseholdError, type RunContext } from "leasehold";
import { sqlite } from "leasehold/sqlite";
import { shout } from "./shout.js";
enum Word { hello = "hello" }
export default defineJob({
  name: "ts",
  run({ input }: RunContext<{ word: Word }>): void {
    console.log(shout(input.word), typeof sqlite, Word.hello);
    throw new FinalError("once is enough");
  },
});`;

const SHOUT = "export const shout = (word: string): string => word.toUpperCase();";

for (const { name, version, path, missing } of nodeBinaries()) {
  optional(`a TypeScript JOBS_MODULE on ${name} ${version}`, missing, () => {
    for (const [kind, source] of [
      ["erasable", ERASABLE],
      ["more than erasable", BEYOND],
    ] as const) {
      it(`is loaded when its syntax is ${kind}, with one copy of leasehold`, async () => {
        const cwd = folder();
        file(cwd, "package.json", '{"type":"module"}');
        file(cwd, "jobs.ts", source);
        file(cwd, "shout.ts", SHOUT);
        file(cwd, "in.ndjson", '{"job":"ts","input":{"word":"hello"}}\n');
        const args = ["batch", "jobs.ts", "--input", "in.ndjson", "--json"];
        const { code, stdout, stderr } = await startProcess(CLI, args, { cwd, node: path }).ended;
        expect(stderr).toMatch(/^HELLO/m);
        // A FinalError of another copy would not be final: the job would have been tried again.
        expect(JSON.parse(stdout)).toMatchObject({
          ended: { failed: 1 },
          failures: [{ error: expect.stringMatching(/^FinalError: once/) }],
        });
        expect(code).toBe(1);
      });
    }
  });
}

describe("a JOBS_MODULE", () => {
  it("may be CommonJS, or TypeScript compiled to it", async () => {
    const cwd = folder();
    const body = `const { defineJob } = await import("leasehold");`;
    file(cwd, "jobs.cts", "export const nothing: number = 1;");
    expect((await cli(["work", "jobs.cts"], { cwd })).stderr).toMatch(
      /exports no job \(its exports: nothing\)/,
    );
    file(cwd, "jobs.mts", `${body} export const a = defineJob({ name: "a", run(): void {} });`);
    expect((await cli(["work", "jobs.mts", "--drain"], { cwd })).code).toBe(0);
  });

  it("tells an error in its TypeScript with the file's name", async () => {
    const cwd = folder();
    file(cwd, "jobs.ts", "export const a: = 1;");
    const { code, stderr } = await cli(["work", "jobs.ts"], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/jobs\.ts could not be loaded/)]);
  });

  it("may lie in another folder, whose own modules it finds", async () => {
    const cwd = folder();
    mkdirSync(join(cwd, "src"));
    file(join(cwd, "src"), "shout.ts", SHOUT);
    file(
      join(cwd, "src"),
      "jobs.ts",
      `import { defineJob } from "leasehold"; import { shout } from "./shout.ts";
       export const a = defineJob({ name: shout("loud"), run(): void { console.log("ran"); } });`,
    );
    await cli(["enqueue", "LOUD"], { cwd });
    expect((await cli(["work", "src/jobs.ts", "--drain"], { cwd })).stdout).toMatch(/^ran$/m);
  });
});
