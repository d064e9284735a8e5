import type { Command } from "commander";
import { withLeasehold } from "../client.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { type StoreFlags, storeOptions } from "../options.ts";
import { data, json } from "../output.ts";

interface Flags extends StoreFlags {
  /** True without a value. */
  readonly done?: string | true;
  readonly notDone?: boolean;
}

export function resolveStep(program: Command): void {
  storeOptions(program.command("resolve-step"))
    .description("say what became of a step whose outcome is unknown; retry the job then")
    .argument("<id>", "job id")
    .argument("<step>", "the step's name")
    .option("--done [JSON]", "it happened, and this is its result")
    .option("--not-done", "it did not happen: the next attempt runs it")
    .action(run);
}

async function run(id: string, step: string, flags: Flags): Promise<void> {
  const resolution = resolutionOf(flags);
  const answer = await withLeasehold(flags, { create: false }, (leasehold) =>
    leasehold.resolveStep(id, step, resolution),
  );
  if (flags.json) json({ jobId: id, step, ...answer });
  const name = JSON.stringify(step);
  if (answer.outcome === "conflict")
    throw new CliError(EXIT.refused, `${id}: ${name} stays as it is: ${answer.why}.`);
  if (answer.outcome === "gone")
    throw new CliError(EXIT.notFound, `${id}: there is no such job, or its run has no step ${name}.`);
  if (!flags.json) {
    data(`${id}: ${name} is ${resolution.done ? "done" : "not done"}. Next: leasehold retry ${id}`);
  }
}

function resolutionOf({ done, notDone }: Flags): { done: true; result?: unknown } | { done: false } {
  if ((done !== undefined) === (notDone === true))
    throw usageError("Say what became of the step: --done [JSON] or --not-done.");
  if (done === undefined) return { done: false };
  if (done === true) return { done: true };
  try {
    return { done: true, result: JSON.parse(done) };
  } catch (error) {
    throw usageError(
      `--done ${done} is no JSON: ${(error as Error).message}. Put texts in quotes: '"sent"'.`,
    );
  }
}
