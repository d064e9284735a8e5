import type { Command } from "commander";
import { type StoreFlags, storeOptions } from "../options.ts";

export function retry(program: Command): void {
  storeOptions(program.command("retry"))
    .description("set ended jobs to ready, with all their attempts anew")
    .argument("<id...>", "job ids")
    .option("--again", "a new run: effects that the last run had are to happen again")
    .action(async (ids: string[], flags: StoreFlags & { readonly again?: boolean }) => {
      const { control } = await import("../control.ts");
      const again = flags.again === true;
      await control(ids, flags, {
        done: "retried",
        act: (leasehold, all) => leasehold.retry(all, { again }),
      });
    });
}
