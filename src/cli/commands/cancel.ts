import type { Command } from "commander";
import { type StoreFlags, storeOptions } from "../options.ts";

export function cancel(program: Command): void {
  storeOptions(program.command("cancel"))
    .description("cancel jobs: a waiting one ends at once, a running one is asked to stop")
    .argument("<id...>", "job ids")
    .action(async (ids: string[], flags: StoreFlags) => {
      const { control } = await import("../control.ts");
      await control(ids, flags, { done: "cancelled", act: (leasehold, all) => leasehold.cancel(all) });
    });
}
