import type { Command } from "commander";
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

async function run(name: string, command: string[], flags: WithLeaseFlags): Promise<void> {
  const [{ LeaseHeldError, LeaseEndedError }, { withLeasehold }, { startCommand }, { systemWorld }] =
    await Promise.all([
      import("../../index.ts"),
      import("../client.ts"),
      import("../child-command.ts"),
      import("../../clock/system.ts"),
    ]);
  const { timers } = systemWorld();
  const waiting = new AbortController();
  const giveUp = (signal: NodeJS.Signals): void => waiting.abort(signal);
  process.once("SIGINT", giveUp).once("SIGTERM", giveUp);

  let generation: number | undefined;
  let exitCode: number | undefined;
  let lost: string | undefined;
  const terms = { leaseMs: flags.lease, waitMs: flags.wait, signal: waiting.signal };
  const report = (outcome: string): void => {
    if (flags.json) words(JSON.stringify({ lease: name, outcome, generation: generation ?? null }));
  };
  try {
    await withLeasehold(flags, { create: true }, (leasehold) =>
      leasehold.withLease(name, terms, async (lease) => {
        process.off("SIGINT", giveUp).off("SIGTERM", giveUp);
        generation = lease.token.generation;
        report("held");
        const child = startCommand(
          command,
          {
            LEASEHOLD_LINE: lease.token.line,
            LEASEHOLD_GENERATION: String(lease.token.generation),
            LEASEHOLD_OWNER: lease.token.owner,
          },
          timers,
        );
        const onEnd = (): void => {
          const reason: unknown = lease.signal.reason;
          lost = reason instanceof LeaseEndedError ? reason.reason : String(reason);
          words(
            `leasehold: ${name}: the lease with generation ${generation} has ended (${lost}); ending the command.`,
          );
          child.end(flags.grace);
        };
        lease.signal.addEventListener("abort", onEnd, { once: true });
        if (lease.signal.aborted) onEnd();
        try {
          exitCode = await child.exitCode;
        } finally {
          lease.signal.removeEventListener("abort", onEnd);
        }
      }),
    );
  } catch (error) {
    const signal: unknown = waiting.signal.reason;
    if (waiting.signal.aborted && generation === undefined) {
      process.exitCode = signalExitCode(signal as "SIGINT" | "SIGTERM");
      return;
    }
    if (error instanceof LeaseHeldError) {
      report("refused");
      words(
        `leasehold: ${name} is held by somebody else, for ${shortDuration(error.remainingMs)} yet; --wait waits.`,
      );
      process.exitCode = EXIT.refused;
      return;
    }
    // Whatever the library says of a lost lease has been said above.
    if (lost === undefined) throw error;
  }
  report(lost === undefined ? "released" : "lost");
  process.exitCode = lost === undefined ? exitCode : EXIT.refused;
}
