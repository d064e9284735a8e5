import type { Command } from "commander";
import { duration, wholeNumber } from "../duration.ts";
import { EXIT, signalExitCode } from "../exit.ts";
import { listOf, type StoreFlags, storeOptions } from "../options.ts";
import { data, json, keepStdoutForData, words, wordsOnNewLine } from "../output.ts";

interface WorkFlags extends StoreFlags {
  readonly concurrency: number;
  readonly queues?: readonly string[];
  readonly grace: number;
  readonly drain?: boolean;
}

export function work(program: Command): void {
  storeOptions(program.command("work"))
    .description("run a worker until it is told to stop")
    .argument("<jobs-module>", "a module (JavaScript or TypeScript) that exports jobs made by defineJob")
    .option("--concurrency <n>", "jobs at a time", wholeNumber(1), 10)
    .option(
      "--queues <names>",
      "claim these queues only (default: those of the jobs)",
      listOf((name) => name),
    )
    .option("--grace <duration>", "how long running jobs may take to end when stopping", duration, 25_000)
    .option("--drain", "end when nothing is due; exit 1 if a job failed")
    .addHelpText("after", "\nCtrl-C or SIGTERM lets running jobs end, a second one stops them.")
    .action(run);
}

async function run(module: string, flags: WorkFlags): Promise<void> {
  const [{ withLeasehold }, { loadJobs, jobNames }] = await Promise.all([
    import("../client.ts"),
    import("../jobs-module.ts"),
  ]);
  if (flags.json) keepStdoutForData();
  const jobs = await loadJobs(module);
  await withLeasehold(flags, { create: true }, async (leasehold) => {
    const { concurrency, queues, grace: graceMs, drain } = flags;
    const options = { concurrency, graceMs, ...(queues === undefined ? {} : { queues }) };
    const draining = new AbortController();
    let stoppedBy: "SIGINT" | "SIGTERM" | undefined;
    const worker = drain ? undefined : leasehold.work([...jobs.values()], options);
    const ended = new Promise<void>((resolve) => {
      worker?.on("stopped", () => resolve());
    });
    const onSignal = (signal: NodeJS.Signals): void => {
      const first = stoppedBy === undefined;
      stoppedBy ??= signal as "SIGINT" | "SIGTERM";
      wordsOnNewLine(
        `leasehold: ${first ? "finishing the running jobs; once more to stop them too" : "stopping the running jobs"}.`,
      );
      draining.abort();
      if (!first && drain) process.exit(signalExitCode(stoppedBy)); // what ran is reclaimed when its leases end
      void worker?.stop({ graceMs: first ? graceMs : 0 });
    };
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal);

    words(
      `leasehold: working on ${jobNames(jobs)} in ${leasehold.store.description}, ${concurrency} at a time.`,
    );
    const counts =
      worker === undefined
        ? await leasehold.drain([...jobs.values()], { ...options, signal: draining.signal })
        : await ended.then(() => worker.counts);
    if (flags.json) json(counts);
    else
      data(
        Object.entries(counts)
          .map(([name, count]) => `${name} ${count}`)
          .join(", "),
      );
    if (drain && counts.failed > 0) process.exitCode = EXIT.failed;
    if (stoppedBy !== undefined) process.exitCode = signalExitCode(stoppedBy);
  });
}
