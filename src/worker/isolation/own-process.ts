/**
 * The first file of an isolated process: runs one job at a time, as its worker says, and does not outlive it. Nothing of the
 * caller's is imported before the watchdog is awake.
 */

import { once } from "node:events";
import { Worker as Thread } from "node:worker_threads";
import { parsed } from "../../client/schema.ts";
import { systemWorld } from "../../clock/system.ts";
import { resultJson } from "../result-json.ts";
import { RunContext } from "../run-context.ts";
import { carried } from "./carried-error.ts";
import { markAsIsolated } from "./inside.ts";
import { jobIn } from "./job-module.ts";
import { killOwnGroup } from "./kill-group.ts";
import type { FromProcess, ToProcess } from "./messages.ts";
import { OwnRun } from "./own-run.ts";
import { TrustCell } from "./trust-cell.ts";

const world = systemWorld();
const cell = new TrustCell();
let running: OwnRun | undefined;

function tell(message: FromProcess): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

function hear(message: ToProcess): void {
  if (message.kind === "run") void run(message);
  else if (message.run !== running?.number) return;
  else if (message.kind === "abort") running.abort(message.reason);
  else running.answered(message.call, message);
}

async function run(message: ToProcess & { readonly kind: "run" }): Promise<void> {
  const own = new OwnRun(message, world, cell, tell);
  running = own;
  try {
    const definition = await jobIn(message.module, own.claimed.job.name);
    const input = await parsed(definition.input, JSON.parse(own.claimed.job.input), definition.name, "input");
    const returned = await definition.run(new RunContext(own, input));
    const result = await resultJson(definition, returned, message.maxResultBytes);
    own.isOver = true;
    const late = await own.steps?.ended();
    if (late !== undefined) throw late.error;
    own.ended();
    tell({ kind: "returned", run: own.number, result });
  } catch (thrown) {
    own.isOver = true;
    await own.steps?.ended();
    own.failed();
    tell({ kind: "threw", run: own.number, error: carried(thrown) });
  }
  running = undefined;
}

markAsIsolated();
// The worker closes the channel of a process that it needs no more. With a run under way it has died.
process.on("disconnect", () => {
  if (running !== undefined) killOwnGroup();
  process.exit(0);
});
process.on("uncaughtExceptionMonitor", (error) => tell({ kind: "crashing", error: carried(error) }));

const watchdog = new Thread(new URL("./watchdog-thread.js", import.meta.url), {
  workerData: cell.buffer,
  execArgv: [],
  name: "leasehold watchdog",
});
// Without it nothing would end a handler that blocks the loop.
watchdog.once("error", killOwnGroup).once("exit", killOwnGroup);
await once(watchdog, "message");
process.on("message", (message) => hear(message as ToProcess));
tell({ kind: "ready" });
