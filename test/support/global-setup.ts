import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { stopServers } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    seed: number;
    /** Where throw-away servers of this run live, and the process at whose end they end. */
    servers: { readonly folder: string; readonly parent: number };
  }
}

/** Set once the first of vitest's projects has been through it, to the seed that all of them have. */
const SET_UP = "LEASEHOLD_SET_UP";

/**
 * Before the first test: builds dist/ once (again at each rerun of a watch), then draws and prints the seed. Servers are
 * started by the first test that asks for one, and stopped here after the last.
 */
export function setup(project: TestProject): () => Promise<void> {
  if (process.env["LEASEHOLD_BUILT"] !== "1" && process.env[SET_UP] === undefined) build();
  project.onTestsRerun(async () => build());

  startQuickly();
  const seed = seedFrom(process.env[SET_UP] ?? process.env["SEED"]);
  if (process.env[SET_UP] === undefined)
    console.log(`seed ${seed}: \`SEED=${seed} npm test\` draws the same numbers again`);
  process.env[SET_UP] = String(seed);
  project.provide("seed", seed);

  const folder = mkdtempSync(join(tmpdir(), "leasehold-servers-"));
  chmodSync(folder, 0o711); // as root, the server is another user's
  project.provide("servers", { folder, parent: process.pid });
  return () => stopServers(folder);
}

/**
 * Where more certificates are named, Node 20 reads all that it has at every start, which takes longer than the rest of the
 * start; tests start two thousand processes, of which npm alone talks to strangers.
 */
function startQuickly(): void {
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env;
  if (certificates === undefined) return;
  process.env["npm_config_cafile"] ??= certificates;
  delete process.env["NODE_EXTRA_CA_CERTS"];
}

function build(): void {
  const script = fileURLToPath(new URL("../../scripts/build.js", import.meta.url));
  const { status } = spawnSync(process.execPath, [script, "--quiet"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0) throw new Error("The build failed; the compiler's words are above.");
}

function seedFrom(given: string | undefined): number {
  if (given === undefined || given === "") return Math.floor(Math.random() * 2 ** 31);
  const seed = Number(given);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new Error(`SEED is a whole number from 0 up, not \`${given}\`.`);
  return seed;
}
