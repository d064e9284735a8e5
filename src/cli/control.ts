/** `cancel`, `revoke`, `retry` and `delete`: many ids, an answer for each, and one exit code for all. */

import type { Leasehold } from "../index.ts";
import type { ControlAnswer } from "../protocol/control.ts";
import { type JobId, jobId } from "../protocol/identity.ts";
import { withLeasehold } from "./client.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import type { StoreFlags } from "./options.ts";
import { data, json, words } from "./output.ts";

/** What is done, in the words that the answer is told in: `cancelled`, `deleted`. */
export interface Control {
  readonly done: string;
  act(leasehold: Leasehold, ids: readonly JobId[]): Promise<readonly ControlAnswer[]>;
}

export async function control(
  ids: readonly string[],
  flags: StoreFlags,
  { done, act }: Control,
): Promise<void> {
  const parsed = ids.map(jobId);
  const answers = await withLeasehold(flags, { create: false }, (leasehold) => act(leasehold, parsed));
  if (flags.json) json(answers.map((answer, index) => ({ jobId: parsed[index], ...answer })));
  for (const [index, answer] of answers.entries()) {
    const text = sentence(parsed[index] as JobId, answer, done);
    if (answer.outcome === "conflict" || answer.outcome === "gone") words(text);
    else if (!flags.json) data(text);
  }
  process.exitCode = exitCode(answers);
}

function sentence(id: JobId, answer: ControlAnswer, done: string): string {
  switch (answer.outcome) {
    case "applied":
      return answer.pending
        ? `${id}: cancel requested; its owner hears of it with the next renewal.`
        : `${id}: ${done}; it is ${answer.state}, generation ${answer.generation}.`;
    case "already":
      return `${id}: nothing to do; it is ${answer.state}.`;
    case "conflict":
      return `${id}: not ${done}: ${answer.why}.`;
    case "gone":
      return `${id}: no such job: it never was, or it was deleted or pruned.`;
  }
}

function exitCode(answers: readonly ControlAnswer[]): ExitCode {
  if (answers.some(({ outcome }) => outcome === "conflict")) return EXIT.refused;
  return answers.some(({ outcome }) => outcome === "gone") ? EXIT.notFound : EXIT.done;
}
