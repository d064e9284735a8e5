import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { mutantsOf } from "../mutants/all.ts";
import { bundle } from "../mutants/bundle.ts";
import type { SourceMutant } from "../mutants/source-mutant.ts";

/** How many worlds a broken one may survive. */
const MOST_RUNS = 300;
/** A world of a broken one may have no end at all. */
const LONGEST_MS = 60_000;

// Below node_modules, so that what the program imports is found from there.
const WORK = "node_modules/.leasehold-mutants";
let folder: string;

beforeAll(() => {
  mkdirSync(WORK, { recursive: true });
  folder = mkdtempSync(join(WORK, "simulation-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function hunted(
  mutant: SourceMutant | undefined,
  worlds: number,
): Promise<{ code: number; told: string }> {
  const program = await bundle("test/simulation/hunt.ts", mkdtempSync(join(folder, "hunt-")), mutant);
  const child = spawn(process.execPath, [program, "1", String(worlds)], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: LONGEST_MS,
    killSignal: "SIGKILL",
  });
  let told = "";
  child.stdout.on("data", (chunk: Buffer) => {
    told += chunk.toString();
  });
  const [code] = await once(child, "close");
  return { code: code ?? -1, told };
}

it("nothing is found out of the source as it is", { timeout: 120_000 }, async () => {
  expect(await hunted(undefined, 30)).toEqual({ code: 0, told: "" });
});

it.each(mutantsOf("simulation"))("is found out: $name", { timeout: 120_000 }, async (mutant) => {
  const { code, told } = await hunted(mutant, MOST_RUNS);
  if (process.env["LEASEHOLD_SHOW"] === "1") process.stdout.write(`${mutant.name}: ${told}`);
  // Killed, it had a world without an end, which is as good as found out.
  expect(code, `${mutant.name} survived ${MOST_RUNS} worlds`).not.toBe(0);
});
