import type { Command } from "commander";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json, words } from "../output.ts";
import { storeAt, storeLocation } from "../store-url.ts";

interface MigrateFlags extends StoreFlags {
  readonly dryRun?: boolean;
}

export function migrate(program: Command): void {
  storeOptions(program.command("migrate"))
    .description("bring the store's schema up to date, making the store if there is none")
    .option("--dry-run", "print the SQL that would run, and run nothing")
    .action(run);
}

async function run(flags: MigrateFlags): Promise<void> {
  const store = await storeAt(storeLocation(flags.store), { create: true });
  try {
    const pending = await store.pendingMigrations();
    if (flags.dryRun !== true) await store.open();
    const versions = pending.map(({ version }) => version);
    if (flags.json) {
      json({
        store: store.description,
        dryRun: flags.dryRun === true,
        versions,
        ...(flags.dryRun ? { sql: pending } : {}),
      });
    } else if (flags.dryRun) {
      for (const { version, sql } of pending) data(`-- schema ${version}\n${sql.trimEnd()}\n`);
      if (pending.length === 0) words(`${store.description}: nothing to do, the schema is up to date.`);
    } else {
      data(
        pending.length === 0
          ? `${store.description}: the schema was up to date.`
          : `${store.description}: schema ${versions.join(", ")} applied.`,
      );
    }
  } finally {
    await store.close();
  }
}
