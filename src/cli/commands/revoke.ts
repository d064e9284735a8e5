import type { Command } from "commander";
import { type StoreFlags, storeOptions } from "../options.ts";

export function revoke(program: Command): void {
  storeOptions(program.command("revoke"))
    .description("take running jobs from their owners, who are stale from then on; the jobs are ready again")
    .argument("<id...>", "job ids")
    .addHelpText("after", "\nA destination refuses the old owner once it has seen a higher generation.")
    .action(async (ids: string[], flags: StoreFlags) => {
      const { control } = await import("../control.ts");
      await control(ids, flags, { done: "revoked", act: (leasehold, all) => leasehold.revoke(all) });
    });
}
