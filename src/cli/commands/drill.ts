import { type Command, InvalidArgumentError } from "commander";
import type { Random, World } from "../../clock/world.ts";
import type { DestinationLevel } from "../../destinations/destination.ts";
import { type Choice, choices, DEFAULT_DESTINATION, destinationChoice } from "../accounts/kinds.ts";
import { FAULT_NAMES, type FaultName } from "../drill/faults.ts";
import { duration, wholeNumber } from "../duration.ts";
import { CliError, EXIT, signalExitCode, usageError } from "../exit.ts";
import { listOf, oneOf, type StoreFlags, storeOptions } from "../options.ts";
import { data, json, keepStdoutForData, wordsOnNewLine } from "../output.ts";

const WITH_BLIND = { withBlind: true };
const EXPECTED: Readonly<Record<string, DestinationLevel>> = {
  "at-least-once": "at least once",
  deduplicated: "deduplicated",
  fenced: "fenced",
  "fenced+deduplicated": "fenced + deduplicated",
};
const MOST_ROUNDS = 1_000;

interface DrillFlags extends StoreFlags {
  readonly destination?: Choice;
  readonly jobs?: string;
  readonly rounds: number;
  readonly faults?: readonly FaultName[];
  readonly lease: number;
  readonly seed?: number;
  readonly expect?: string;
}

export function drill(program: Command): void {
  storeOptions(program.command("drill"))
    .description("pause, kill and cut off owners of throw-away jobs in your store, and tell what was refused")
    .option(
      "--destination <kind>",
      `where their writes land: ${choices(WITH_BLIND)} (else sqlite)`,
      destinationChoice(WITH_BLIND),
    )
    .option("--jobs <module>", "a module whose export `drill` is your own destination")
    .option("--rounds <n>", "how often each fault", rounds, 3)
    .option("--faults <names>", `these only: ${FAULT_NAMES.join(", ")}`, listOf(oneOf(FAULT_NAMES)))
    .option("--lease <duration>", "how long the leases are, 250ms to 1m", lease, 1_000)
    .option("--seed <n>", "the order, moments and pairings of an earlier drill", wholeNumber(0))
    .option(
      "--expect <level>",
      `what the destination need only be: ${Object.keys(EXPECTED).join(", ")}`,
      oneOf(Object.keys(EXPECTED)),
    )
    .addHelpText(
      "after",
      "\nThe store must be there and up to date. The drill works in a queue of its own and touches no other jobs; it\n" +
        "takes about two leases for each round. Exit code 0 when all that was late was refused, 1 when anything was let\n" +
        "through, 4 when a part of the drill could not be played.",
    )
    .action(run);
}

function rounds(text: string): number {
  const count = wholeNumber(1)(text);
  if (count > MOST_ROUNDS) throw new InvalidArgumentError(`Give at most ${MOST_ROUNDS}.`);
  return count;
}

function lease(text: string): number {
  const ms = duration(text);
  if (ms < 250 || ms > 60_000) throw new InvalidArgumentError("Give 250ms to 1m.");
  return ms;
}

async function run(flags: DrillFlags): Promise<void> {
  if (process.platform === "win32") {
    throw new CliError(EXIT.failed, "The drill stops processes with SIGSTOP, which Windows does not have.");
  }
  if (flags.jobs !== undefined && flags.destination !== undefined)
    throw usageError("--jobs brings a destination of its own: give it or --destination, not both.");
  if (flags.json) keepStdoutForData();
  const [{ systemWorld }, { seededNumbers }, { runDrill }, { reportText }] = await Promise.all([
    import("../../clock/system.ts"),
    import("../../clock/seeded.ts"),
    import("../drill/run.ts"),
    import("../drill/report-text.ts"),
  ]);
  const world = systemWorld();
  const seed = flags.seed ?? drawn(world);
  const random: Random = { next: seededNumbers(seed) };
  const interrupt = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (!interrupt.signal.aborted) wordsOnNewLine("leasehold: breaking off, and taking away what was made.");
    interrupt.abort(signal);
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  const report = await runDrill(
    {
      store: flags.store,
      place: flags.jobs === undefined ? (flags.destination ?? DEFAULT_DESTINATION) : { module: flags.jobs },
      faults: flags.faults ?? FAULT_NAMES,
      rounds: flags.rounds,
      leaseMs: flags.lease,
      expected: flags.expect === undefined ? undefined : EXPECTED[flags.expect],
      seed,
    },
    { world, random, interrupted: interrupt.signal },
  );
  if (flags.json) json(report);
  else data(reportText(report));
  process.exitCode = interrupt.signal.aborted
    ? signalExitCode(interrupt.signal.reason as "SIGINT" | "SIGTERM")
    : report.verdict.exitCode;
}

function drawn({ random }: World): number {
  return Math.floor(random.next() * 1_000_000);
}
