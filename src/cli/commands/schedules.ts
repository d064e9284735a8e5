import type { Command } from "commander";
import type { ScheduleAnswer, Schedules, ScheduleView } from "../../index.ts";
import { CALL, withLeasehold } from "../client.ts";
import { shortDuration, wholeNumber } from "../duration.ts";
import { CliError, EXIT } from "../exit.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json, table, time, words } from "../output.ts";

interface SchedulesFlags extends StoreFlags {
  readonly preview?: number;
  readonly name?: string;
}

const PAGE = 500;

export function schedules(program: Command): void {
  const command = storeOptions(program.command("schedules"))
    .description("list the schedules; pause, resume, run and remove them")
    .option(
      "--preview <n>",
      "show the next n slots of each: local time, UTC, and changes of the clocks",
      wholeNumber(1),
    )
    .option("--name <name>", "this schedule alone")
    .action(run);
  acting(
    command,
    "pause",
    "enqueue no more slots of these schedules; what is enqueued goes on",
    (names, flags) => each(names, flags, "paused", (schedules, name) => schedules.pause(name)),
  );
  acting(command, "resume", "go on with the first slot after now", (names, flags) =>
    each(names, flags, "resumed", (schedules, name) => schedules.resume(name)),
  );
  acting(command, "remove", "remove these schedules; jobs that they have enqueued stay", (names, flags) =>
    each(names, flags, "removed", (schedules, name) => schedules.remove(name)),
  );
  acting(command, "run", "enqueue a job of each schedule at once, besides its slots", runNow);
}

function acting(
  command: Command,
  name: string,
  description: string,
  act: (names: readonly string[], flags: StoreFlags) => Promise<void>,
): void {
  storeOptions(command.command(name))
    .description(description)
    .argument("<name...>", "schedules")
    .action((names: string[], flags: StoreFlags, self: Command) =>
      act(names, { ...self.parent?.opts<StoreFlags>(), ...flags }),
    );
}

async function run(flags: SchedulesFlags): Promise<void> {
  const { found, nowMs } = await withLeasehold(flags, { create: false }, async (leasehold) => ({
    found:
      flags.name === undefined ? await all(leasehold.schedules) : await one(leasehold.schedules, flags.name),
    nowMs: await leasehold.store.nowMs(CALL),
  }));
  if (flags.preview !== undefined) return preview(found, flags.preview, nowMs, flags.json === true);
  if (flags.json) return json(found);
  const head = ["name", "timing", "zone", "job", "next", "last", "paused"];
  const rows = found.map((schedule) => [
    schedule.name,
    timingText(schedule),
    schedule.zone ?? "",
    schedule.jobName,
    time(schedule.nextSlotMs ?? null, nowMs),
    time(schedule.lastSlotMs ?? null, nowMs),
    schedule.paused ? "paused" : "",
  ]);
  await table(head, rows);
}

async function all(schedules: Schedules): Promise<ScheduleView[]> {
  const found: ScheduleView[] = [];
  for (;;) {
    const after = found.at(-1)?.name;
    const page = await schedules.list(after === undefined ? { limit: PAGE } : { limit: PAGE, after });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}

async function one(schedules: Schedules, name: string): Promise<ScheduleView[]> {
  const found = await schedules.get(name);
  if (found === undefined) throw new CliError(EXIT.notFound, `There is no schedule ${JSON.stringify(name)}.`);
  return [found];
}

async function preview(
  found: readonly ScheduleView[],
  count: number,
  nowMs: number,
  asJson: boolean,
): Promise<void> {
  const { previewSlots } = await import("../../schedules/preview.ts");
  const previewed = found.map(({ name, cron, zone = "UTC", everyMs, paused }) => ({
    name,
    paused,
    slots: previewSlots(cron === undefined ? { everyMs: everyMs as number } : { cron, zone }, nowMs, count),
  }));
  if (asJson) return json(previewed);
  const rows = previewed.flatMap(({ name, paused, slots }) =>
    slots.map(({ local, utc, edge = "" }) => [name, local, utc, edge, paused ? "paused" : ""]),
  );
  await table(["name", "local time", "UTC", "clocks", "paused"], rows);
}

function timingText({ cron, everyMs }: ScheduleView): string {
  return cron ?? `every ${shortDuration(everyMs ?? 0)}`;
}

async function each(
  names: readonly string[],
  flags: StoreFlags,
  done: string,
  act: (schedules: Schedules, name: string) => Promise<ScheduleAnswer>,
): Promise<void> {
  const answers = await withLeasehold(flags, { create: false }, async (leasehold) => {
    const answers: (ScheduleAnswer & { readonly name: string })[] = [];
    for (const name of names) answers.push({ name, ...(await act(leasehold.schedules, name)) });
    return answers;
  });
  if (flags.json) json(answers);
  for (const { name, outcome } of answers) {
    if (outcome === "gone") words(`${name}: there is no such schedule.`);
    else if (!flags.json)
      data(outcome === "already" ? `${name}: it was ${done} before.` : `${name}: ${done}.`);
  }
  if (answers.some(({ outcome }) => outcome === "gone")) process.exitCode = EXIT.notFound;
}

async function runNow(names: readonly string[], flags: StoreFlags): Promise<void> {
  const { GoneError, UniqueConflictError } = await import("../../index.ts");
  const answers = await withLeasehold(flags, { create: false }, async (leasehold) => {
    const answers: { readonly name: string; readonly outcome: string; readonly jobId?: string }[] = [];
    for (const name of names) {
      try {
        const { outcome, jobId } = await leasehold.schedules.run(name);
        answers.push({ name, outcome, jobId });
      } catch (error) {
        if (error instanceof UniqueConflictError)
          answers.push({ name, outcome: "conflict", jobId: error.jobId });
        else if (error instanceof GoneError) answers.push({ name, outcome: "gone" });
        else throw error;
      }
    }
    return answers;
  });
  if (flags.json) json(answers);
  for (const { name, outcome, jobId } of answers) {
    if (outcome === "gone") words(`${name}: there is no such schedule.`);
    else if (outcome === "conflict") words(`${name}: not enqueued, job ${jobId} has the unique key.`);
    else if (!flags.json) data(`${name}: ${outcome} as ${jobId}.`);
  }
  const isOne = (what: string): boolean => answers.some(({ outcome }) => outcome === what);
  if (isOne("conflict")) process.exitCode = EXIT.refused;
  else if (isOne("gone")) process.exitCode = EXIT.notFound;
}
