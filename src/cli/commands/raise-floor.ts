import type { Command } from "commander";
import { CALL, withLeasehold } from "../client.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json } from "../output.ts";

export function raiseFloor(program: Command): void {
  storeOptions(program.command("raise-floor"))
    .description(
      "after a restore from a copy: make every lease granted before stale, and no generation given out twice",
    )
    .addHelpText(
      "after",
      "\nA restored copy does not always know that it is one, so run this once after each restore, before workers start.\n" +
        "Running jobs are taken from their owners and run again.",
    )
    .action(run);
}

async function run(flags: StoreFlags): Promise<void> {
  const { epoch } = await withLeasehold(flags, { create: false }, (leasehold) =>
    leasehold.store.raiseFloor(CALL),
  );
  if (flags.json) json({ epoch });
  else data(`The epoch is ${epoch} now: leases granted before are stale.`);
}
