import type { Command } from "commander";
import { type Choice, choices, DEFAULT_DESTINATION, destinationChoice } from "../accounts/kinds.ts";
import type { Check } from "../demo/checks.ts";
import type { Story, Told } from "../demo/story.ts";
import { CliError, EXIT, signalExitCode } from "../exit.ts";
import { journalText } from "../journal-text.ts";
import type { StoreFlags } from "../options.ts";
import { data, json } from "../output.ts";
import { storeAt, storeLocation } from "../store-url.ts";

const FENCED = { withBlind: false };

export function demo(program: Command): void {
  program
    .command("demo")
    .description(
      "play the protocol's worked example with real processes: a frozen owner is refused everywhere",
    )
    .option("--store <url>", "play it on this store, in a queue of its own (else on a file that is removed)")
    .option(
      "--destination <kind>",
      `where the late write would land: ${choices(FENCED)} (else sqlite)`,
      destinationChoice(FENCED),
    )
    .option("--json", "print JSON on stdout")
    .addHelpText("after", "\nIt takes about two seconds, and exits 1 if any refusal is missing.")
    .action(run);
}

interface DemoFlags extends StoreFlags {
  readonly destination?: Choice;
}

async function run(options: DemoFlags): Promise<void> {
  if (process.platform === "win32") {
    throw new CliError(EXIT.failed, "The demo freezes a process with SIGSTOP, which Windows does not have.");
  }
  const [{ mkdtemp, rm }, { tmpdir }, { join }, { systemWorld }, { openAccount }, { gather }, { play }] =
    await Promise.all([
      import("node:fs/promises"),
      import("node:os"),
      import("node:path"),
      import("../../clock/system.ts"),
      import("../accounts/kinds.ts"),
      import("../demo/cast.ts"),
      import("../demo/story.ts"),
    ]);
  const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  // LEASEHOLD_STORE is not asked: a demo belongs in no store that it was not sent to.
  const location = storeLocation(options.store ?? join(folder, "store.db"));
  const store = await storeAt(location, { create: true });
  const cast = gather();
  const steps: Told[] = [];
  const world = systemWorld();
  let stoppedBy: "SIGINT" | "SIGTERM" | undefined;
  // The story breaks off when its players are gone, and what it made is taken away as at its end.
  const onSignal = (signal: NodeJS.Signals): void => {
    stoppedBy = signal as "SIGINT" | "SIGTERM";
    cast.dismiss();
  };
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    const story = await play({
      store,
      location,
      place: {
        ...(options.destination ?? DEFAULT_DESTINATION),
        folder,
        name: `leasehold_demo_${world.ids.jobId().replaceAll("-", "")}`,
      },
      openAccount,
      cast,
      world,
      tell(told) {
        steps.push(told);
        if (!options.json) data(toldLine(told));
      },
    });
    if (options.json)
      json({ ok: allHold(story), steps, ...story, job: { jobId: story.job.jobId, state: story.job.state } });
    else data(ending(story));
    if (!allHold(story)) process.exitCode = EXIT.failed;
  } catch (error) {
    if (stoppedBy === undefined) throw error;
  } finally {
    cast.dismiss();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
  if (stoppedBy !== undefined) process.exitCode = signalExitCode(stoppedBy);
}

function allHold(story: Story): boolean {
  return story.checks.every(({ ok }) => ok);
}

function toldLine({ atMs, who, text, refused }: Told): string {
  return `${(atMs / 1000).toFixed(2).padStart(6)} s  ${who.padEnd(4)} ${refused ? "✗" : " "} ${text}`;
}

function ending(story: Story): string {
  const entries = story.destination.entries.map(
    ({ generation, cents }) => `  ${cents} cents, written by generation ${generation}`,
  );
  return [
    "\nThe job's journal:",
    journalText(story.journal),
    "\nThe account:",
    ...entries,
    "",
    ...story.checks.map(checkLine),
  ].join("\n");
}

function checkLine({ what, ok, seen }: Check): string {
  return ok ? `ok      ${what}` : `MISSING ${what}; seen: ${seen}`;
}
