import type { Command } from "commander";
import type { Timers } from "../../clock/world.ts";
import { duration, wholeNumber } from "../duration.ts";
import { EXIT, signalExitCode, usageError } from "../exit.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json, keepStdoutForData, wordsOnNewLine } from "../output.ts";

const LONGEST_ABORT_MS = 10_000;

interface BatchFlags extends StoreFlags {
  readonly input: string;
  readonly job?: string;
  readonly name?: string;
  readonly processes: number;
  readonly concurrency: number;
  readonly grace: number;
  readonly retryFailed?: boolean;
}

export function batch(program: Command): void {
  storeOptions(program.command("batch"))
    .description("enqueue the lines of an NDJSON file as jobs and run them to their end")
    .argument("<jobs-module>", "a module (JavaScript or TypeScript) that exports jobs made by defineJob")
    .requiredOption("--input <file>", 'NDJSON, a line {"job", "input", …options} each; - for standard input')
    .option("--job <name>", "each line is the input of this job alone")
    .option("--name <batch>", "the batch's name (default: the file's path)")
    .option("--processes <n>", "worker processes", wholeNumber(1), 1)
    .option("--concurrency <n>", "jobs at a time in each process", wholeNumber(1), 10)
    .option("--grace <duration>", "how long running jobs may take to end when stopping", duration, 25_000)
    .option("--retry-failed", "run again what failed in an earlier run of this batch")
    .addHelpText(
      "after",
      "\nThe ids of the jobs come from the batch's name and the lines: started again after a crash, the same\n" +
        "command goes on where it was, and nothing that had completed runs again. Every line is checked before\n" +
        "anything is enqueued. Ctrl-C lets running jobs end, a second one stops them.",
    )
    .action(run);
}

async function run(module: string, flags: BatchFlags): Promise<void> {
  const [
    { withLeasehold },
    { loadJobs, jobNames },
    { openSource },
    { Crew },
    { startProgress },
    { runBatch },
  ] = await Promise.all([
    import("../client.ts"),
    import("../jobs-module.ts"),
    import("../batch/source.ts"),
    import("../batch/crew.ts"),
    import("../progress.ts"),
    import("../batch/run.ts"),
  ]);
  const { summaryText, hasFailed } = await import("../batch/summary.ts");
  const { systemWorld } = await import("../../clock/system.ts");
  const { storeLocation } = await import("../store-url.ts");

  if (flags.json) keepStdoutForData();
  const jobs = await loadJobs(module);
  if (flags.job !== undefined && !jobs.has(flags.job)) {
    throw usageError(`--job: ${module} has no job ${JSON.stringify(flags.job)}; it has ${jobNames(jobs)}.`);
  }
  const store = storeLocation(flags.store);
  const source = await openSource(flags.input);
  try {
    const name = flags.name ?? source.defaultName;
    if (name === undefined) {
      throw usageError(
        `--name is needed with --input ${flags.input}: job ids come from the batch's name and the lines, ` +
          "so that the same batch started again goes on where it was. Give each set of lines a name of its own.",
      );
    }
    const { concurrency, grace: graceMs } = flags;
    const { timers } = systemWorld();
    const crew = new Crew({ module, store, concurrency, graceMs }, flags.processes, timers);
    const interrupt = interruption(crew, timers);
    const summary = await withLeasehold(flags, { create: true }, async (leasehold) => {
      const progress = await startProgress({ of: "jobs", failed: "failed" });
      try {
        const batchToRun = {
          name,
          source,
          jobs,
          jobName: flags.job,
          retryFailed: flags.retryFailed === true,
        };
        return await runBatch(batchToRun, { leasehold, crew, progress, interrupted: interrupt.signal });
      } finally {
        progress.stop();
        await crew.stop();
      }
    });
    if (flags.json) json(summary);
    else data(summaryText(summary));
    if (hasFailed(summary)) process.exitCode = EXIT.failed;
    if (interrupt.by !== undefined && summary.notEnded > 0) process.exitCode = signalExitCode(interrupt.by);
  } finally {
    await source.dispose();
  }
}

interface Interruption {
  readonly signal: AbortSignal;
  by: "SIGINT" | "SIGTERM" | undefined;
}

/** The first signal lets running jobs end, the second cuts them short. */
function interruption(crew: { abort(): void }, timers: Timers): Interruption {
  const controller = new AbortController();
  const interrupt: Interruption = { signal: controller.signal, by: undefined };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (interrupt.by === undefined) {
      interrupt.by = signal as "SIGINT" | "SIGTERM";
      wordsOnNewLine("leasehold: finishing the running jobs; once more to stop them too.");
      controller.abort(signal);
      return;
    }
    const exitCode = signalExitCode(interrupt.by);
    wordsOnNewLine("leasehold: stopping the running jobs.");
    crew.abort();
    // For a store that does not answer: the same command started again goes on from wherever this one is.
    timers.after(LONGEST_ABORT_MS, () => process.exit(exitCode), { background: true });
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return interrupt;
}
