/** The commands of `leasehold`. Each file defines one; what a command needs to run is loaded when it runs. */

import { readFileSync } from "node:fs";
import { Command } from "commander";
import { batch } from "./commands/batch.ts";
import { cancel } from "./commands/cancel.ts";
import { deleteJobs } from "./commands/delete.ts";
import { demo } from "./commands/demo.ts";
import { doctor } from "./commands/doctor.ts";
import { drill } from "./commands/drill.ts";
import { enqueue } from "./commands/enqueue.ts";
import { list } from "./commands/list.ts";
import { migrate } from "./commands/migrate.ts";
import { queues } from "./commands/queues.ts";
import { raiseFloor } from "./commands/raise-floor.ts";
import { resolveStep } from "./commands/resolve-step.ts";
import { retry } from "./commands/retry.ts";
import { revoke } from "./commands/revoke.ts";
import { schedules } from "./commands/schedules.ts";
import { show } from "./commands/show.ts";
import { withLease } from "./commands/with-lease.ts";
import { work } from "./commands/work.ts";

export function makeProgram(): Command {
  const program = new Command("leasehold")
    .description("Distributed jobs under expiring leases, with fencing tokens.")
    .version(ownVersion(), "--version", "print the version")
    .showHelpAfterError("(--help shows what can be given)")
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 store out of reach or timed out, 5 refused,\n130 and 143 on signals. Data goes to stdout, words to stderr.",
    );
  for (const define of [
    batch,
    work,
    enqueue,
    list,
    show,
    cancel,
    revoke,
    retry,
    resolveStep,
    deleteJobs,
    queues,
    schedules,
    withLease,
    migrate,
    raiseFloor,
    doctor,
    demo,
    drill,
  ]) {
    define(program);
  }
  return program;
}

function ownVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
