// One late write, by two real processes. A claims the job and is stopped for longer than its lease; B takes the job over and
// writes; A goes on, writes with its old generation, and the destination refuses it. This process is B; A is the same
// program once more. What the destination is, the file beside this one says that was started.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, Leasehold, StaleTokenError } from "leasehold";
import { sqlite } from "leasehold/sqlite";

/**
 * @typedef {Pick<import("leasehold").Lease, "token" | "effectScope">} Shown what a destination gets of a lease
 * @typedef {{ folder: string, address: string }} Place the story's own folder, and what `serve` answered
 * @typedef {{ write(lease: Shown, by: string): Promise<unknown>, read(): Promise<string>, close(): unknown }} Destination
 * @typedef {{ serve?(folder: string): Promise<{ address: string, close(): unknown }>, open(place: Place): Promise<Destination> }} Kind
 */

const LEASE_MS = 1_000;

/** @param {Kind} kind */
export async function tell(kind) {
  const [role, place] = process.argv.slice(2);
  await (role === "--as-a" ? playA(kind, JSON.parse(place ?? "")) : playB(kind));
}

/** @param {Kind} kind */
async function playB({ serve, open }) {
  const folder = mkdtempSync(join(tmpdir(), "late-writes-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const served = await serve?.(folder);
  const place = { folder, address: served?.address ?? "" };
  const destination = await open(place);
  const write = defineJob({
    name: "write",
    leaseMs: LEASE_MS,
    async run({ lease }) {
      await destination.write(lease, "B");
      return lease.token.generation;
    },
  });
  const leasehold = new Leasehold({ store: sqlite(join(folder, "jobs.db")), log: () => {} });
  const job = await leasehold.enqueue(write);

  const a = fork(process.argv[1] ?? "", ["--as-a", JSON.stringify(place)]);
  process.once("exit", () => a.kill("SIGKILL")).once("SIGINT", () => process.exit(130));
  const [claimed] = await once(a, "message");
  console.log(
    `A claims the job at generation ${claimed.generation}, and is stopped for longer than its lease.`,
  );

  const worker = leasehold.work([write]);
  console.log(`B claims it at generation ${await leasehold.result(job, { timeoutMs: 30_000 })}, and writes.`);
  const answer = once(a, "message");
  a.kill("SIGCONT");
  const [{ outcome, message }] = await answer;
  console.log(`A goes on, and writes with generation ${claimed.generation}: ${outcome}\n  ${message}`);
  console.log(`In the destination: ${await destination.read()}`);

  await worker.stop();
  await leasehold.close();
  await destination.close();
  await served?.close();
  if (outcome !== "refused") process.exitCode = 1;
}

/**
 * @param {Kind} kind
 * @param {Place} place
 */
async function playA({ open }, place) {
  const destination = await open(place);
  const write = defineJob({
    name: "write",
    async run({ lease: { token, effectScope } }) {
      process.send?.({ generation: token.generation });
      process.kill(process.pid, "SIGSTOP"); // all of its threads, until somebody sends SIGCONT
      await sleep(LEASE_MS);
      // Without `assertTrusted`: asked now, the lease would save us the way. Asked before the stop, it would not have.
      const answer = await destination.write({ token, effectScope }, "A").then(
        () => ({ outcome: "WRITTEN", message: "The destination has no fence." }),
        (error) => ({
          outcome: error instanceof StaleTokenError ? "refused" : "failed",
          message: error.message,
        }),
      );
      process.send?.(answer, undefined, undefined, () => process.exit());
    },
  });
  // Stopped between two steps of its only thread it holds no lock of the jobs' file; a second one might.
  new Leasehold({ store: sqlite(join(place.folder, "jobs.db")) }).work([write], { renewer: "inline" });
}
