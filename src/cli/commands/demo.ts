import type { Command } from "commander";
import type { Check, Story, Told } from "../demo/story.ts";
import { CliError, EXIT } from "../exit.ts";
import { journalText } from "../journal-text.ts";
import type { StoreFlags } from "../options.ts";
import { data, json } from "../output.ts";
import { storeAt, storeLocation } from "../store-url.ts";

export function demo(program: Command): void {
  program
    .command("demo")
    .description(
      "play the protocol's worked example with real processes: a frozen owner is refused everywhere",
    )
    .option("--store <url>", "play it on this store, in a queue of its own (else on a file that is removed)")
    .option("--json", "print JSON on stdout")
    .addHelpText("after", "\nIt takes about two seconds, and exits 1 if any refusal is missing.")
    .action(run);
}

async function run(options: StoreFlags): Promise<void> {
  if (process.platform === "win32") {
    throw new CliError(EXIT.failed, "The demo freezes a process with SIGSTOP, which Windows does not have.");
  }
  const [{ mkdtemp, rm }, { tmpdir }, { join }, { systemWorld }, { gather }, { play }] = await Promise.all([
    import("node:fs/promises"),
    import("node:os"),
    import("node:path"),
    import("../../clock/system.ts"),
    import("../demo/cast.ts"),
    import("../demo/story.ts"),
  ]);
  const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  // LEASEHOLD_STORE is not asked: a demo belongs in no store that it was not sent to.
  const location = storeLocation(options.store ?? join(folder, "store.db"));
  const store = await storeAt(location, { create: true });
  const cast = gather();
  const steps: Told[] = [];
  const onSignal = (signal: NodeJS.Signals): void => {
    cast.dismiss();
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    const story = await play({
      store,
      location,
      destinationPath: join(folder, "destination.db"),
      cast,
      world: systemWorld(),
      tell(told) {
        steps.push(told);
        if (!options.json) data(toldLine(told));
      },
    });
    if (options.json)
      json({ ok: allHold(story), steps, ...story, job: { jobId: story.job.jobId, state: story.job.state } });
    else data(ending(story));
    if (!allHold(story)) process.exitCode = EXIT.failed;
  } finally {
    cast.dismiss();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function allHold(story: Story): boolean {
  return story.checks.every(({ ok }) => ok);
}

function toldLine({ atMs, who, text, refused }: Told): string {
  return `${(atMs / 1000).toFixed(2).padStart(6)} s  ${who.padEnd(3)} ${refused ? "✗" : " "} ${text}`;
}

function ending(story: Story): string {
  const decisions = story.decisions.map(
    ({ generation, outcome, mark }) => `  generation ${generation}: ${outcome}; the mark is ${mark}`,
  );
  return [
    "\nThe job's journal:",
    journalText(story.journal),
    "\nThe account's own log:",
    ...decisions,
    "",
    ...story.checks.map(checkLine),
  ].join("\n");
}

function checkLine({ what, ok, seen }: Check): string {
  return ok ? `ok      ${what}` : `MISSING ${what}; seen: ${seen}`;
}
