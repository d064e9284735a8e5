import type { Command } from "commander";
import type { Leasehold } from "../../index.ts";
import { duration, shortDuration } from "../duration.ts";
import { EXIT, signalExitCode } from "../exit.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { words } from "../output.ts";

interface WithLeaseFlags extends StoreFlags {
  readonly lease: number;
  readonly wait: number;
  readonly grace: number;
}

export function withLease(program: Command): void {
  storeOptions(program.command("with-lease"))
    .description("run a command while holding a named lease; end the command when the lease ends")
    .argument("<name>", "the lease")
    .argument("<command...>", "the command and its arguments, after --")
    .option(
      "--lease <duration>",
      "how long the lease is; it is renewed while the command runs",
      duration,
      30_000,
    )
    .option("--wait <duration>", "how long to wait while somebody else holds it", duration, 0)
    .option("--grace <duration>", "from SIGTERM to SIGKILL when the lease has ended", duration, 10_000)
    .usage("[options] <name> -- <command...>")
    .addHelpText(
      "after",
      "\nThe command finds its fencing token in LEASEHOLD_LINE, LEASEHOLD_GENERATION and LEASEHOLD_OWNER.\n" +
        "Its exit code is this command's; 5 when the lease is held by somebody else, or ended before the command.",
    )
    .action(run);
}

type Outcome = "waiting" | "held" | "released" | "lost" | "refused";

async function run(name: string, command: string[], flags: WithLeaseFlags): Promise<void> {
  const [{ LeaseHeldError }, { withLeasehold }, { runUnderLease }, { systemWorld }] = await Promise.all([
    import("../../index.ts"),
    import("../client.ts"),
    import("../leased-command.ts"),
    import("../../clock/system.ts"),
  ]);
  const waiting = new AbortController();
  const giveUp = (signal: NodeJS.Signals): void => waiting.abort(signal);
  process.once("SIGINT", giveUp).once("SIGTERM", giveUp);

  let generation: number | undefined;
  let lost = false;
  const tell = (outcome: Outcome, text: string): void => {
    if (flags.json) words(JSON.stringify({ lease: name, outcome, generation: generation ?? null }));
    else if (text !== "") words(`leasehold: ${name}: ${text}`);
  };
  const hold = (leasehold: Leasehold, waitMs: number): Promise<number> =>
    leasehold.withLease(name, { leaseMs: flags.lease, waitMs, signal: waiting.signal }, (lease) => {
      process.off("SIGINT", giveUp).off("SIGTERM", giveUp); // from here on they are the command's
      generation = lease.token.generation;
      tell("held", "");
      return runUnderLease(lease, {
        command,
        graceMs: flags.grace,
        timers: systemWorld().timers,
        onLost(reason) {
          lost = true;
          tell("lost", `the lease with generation ${generation} has ended (${reason}); ending the command.`);
        },
      });
    });

  try {
    const exitCode = await withLeasehold(flags, { create: true }, async (leasehold) => {
      try {
        return await hold(leasehold, 0);
      } catch (error) {
        if (!(error instanceof LeaseHeldError) || flags.wait === 0 || waiting.signal.aborted) throw error;
        tell("waiting", `somebody else holds it; waiting for up to ${shortDuration(flags.wait)}.`);
        return hold(leasehold, flags.wait);
      }
    });
    if (!lost) tell("released", "");
    process.exitCode = lost ? EXIT.refused : exitCode;
  } catch (error) {
    if (waiting.signal.aborted) {
      process.exitCode = signalExitCode(waiting.signal.reason as "SIGINT" | "SIGTERM");
    } else if (error instanceof LeaseHeldError) {
      tell("refused", `somebody else holds it, for ${shortDuration(error.remainingMs)} yet. --wait waits.`);
      process.exitCode = EXIT.refused;
    } else throw error;
  }
}
