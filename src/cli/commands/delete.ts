import type { Command } from "commander";
import { type StoreFlags, storeOptions } from "../options.ts";

export function deleteJobs(program: Command): void {
  storeOptions(program.command("delete"))
    .description("delete jobs that nobody holds, with their results and journal")
    .argument("<id...>", "job ids")
    .action(async (ids: string[], flags: StoreFlags) => {
      const { control } = await import("../control.ts");
      await control(ids, flags, { done: "deleted", act: (leasehold, all) => leasehold.delete(all) });
    });
}
