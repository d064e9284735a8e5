import type { Command } from "commander";
import type { Examination, Finding } from "../../stores/doctor.ts";
import { EXIT } from "../exit.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json } from "../output.ts";
import { type StoreLocation, storeLocation } from "../store-url.ts";

interface DoctorFlags extends StoreFlags {
  readonly listen?: string;
}

export function doctor(program: Command): void {
  storeOptions(program.command("doctor"))
    .description("look at the store, its server and the way there, and say what to do; nothing is changed")
    .option("--listen <url>", "the address at which your application listens, if not the store's")
    .addHelpText(
      "after",
      "\nExit code 0 when all is well or worth a warning, 1 on a problem, 4 when no worker could use the store.",
    )
    .action(run);
}

async function run(flags: DoctorFlags): Promise<void> {
  const examination = await examined(storeLocation(flags.store), flags.listen);
  const { store, isUsable, findings } = examination;
  const isWell = !findings.some(({ level }) => level === "problem");
  if (flags.json) json({ ok: isWell, store, findings });
  else {
    data(store);
    for (const finding of findings) data(text(finding));
  }
  if (!isUsable) process.exitCode = EXIT.unreachable;
  else if (!isWell) process.exitCode = EXIT.failed;
}

async function examined(location: StoreLocation, listen: string | undefined): Promise<Examination> {
  if ("path" in location) return (await import("../../stores/sqlite/doctor.ts")).examine(location);
  const [{ examine }, { systemWorld }] = await Promise.all([
    import("../../stores/postgres/doctor.ts"),
    import("../../clock/system.ts"),
  ]);
  const { connectionString, schema } = location;
  const options = {
    connectionString,
    ...(schema === undefined ? {} : { schema }),
    ...(listen === undefined ? {} : { listen }),
  };
  return examine(options, systemWorld());
}

function text({ check, level, found, next }: Finding): string {
  const line = `${level.padEnd(8)} ${check.padEnd(12)} ${found}`;
  return next === undefined ? line : `${line}\n${" ".repeat(22)}${next}`;
}
