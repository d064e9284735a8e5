import type { RunContext } from "../../src/client/handler.ts";
import type { LogEntry } from "../../src/client/log.ts";
import type { Guard } from "../../src/destinations/destination.ts";
import type { Worker } from "../../src/worker/worker.ts";

/** What owners, stores and destinations said, in order: for people, and the message of a failed test. */
export class Story {
  readonly lines: string[] = [];

  tell(line: string): void {
    this.lines.push(line);
  }

  /** A run's try to write, whatever comes of it. */
  async write<Tx>(
    who: string,
    guard: Guard<Tx>,
    { lease }: Pick<RunContext, "lease">,
    body: (tx: Tx) => Promise<unknown> | unknown,
  ): Promise<void> {
    const { line, generation } = lease.token;
    const shown = `${who}, generation ${generation} of ${line.replace(/^job:.*/, "the job")}`;
    try {
      await guard.write(lease, {}, body);
      this.tell(`${shown}: written`);
    } catch (error) {
      const { mark } = error as { mark?: { generation: number } };
      this.tell(`${shown}: refused by the destination, which has seen ${mark?.generation}`);
      throw error;
    }
  }

  follow(who: string, worker: Worker): void {
    worker.on("healed", ({ mark, state }) =>
      this.tell(`${who}: the store is lifted to ${mark}, the job ${state}`),
    );
    worker.on("completed", ({ job }) => this.tell(`${who}: completed at generation ${job.generation}`));
    worker.on("lost", ({ refusal }) => {
      const why = refusal.outcome === "stale" ? refusal.reason : refusal.outcome;
      this.tell(`${who}: refused by the store (${why})`);
    });
  }

  readonly log = (entry: LogEntry): void => {
    if (entry.kind === "healed" && entry.message.startsWith("lease"))
      this.tell("B: the store is lifted to the mark, the lease free");
    if (entry.kind === "mark_too_high") this.tell(`log: ${entry.message.replace(/^.*?: /, "")}`);
  };

  /** Printed with `LEASEHOLD_SHOW=1`. */
  toString(): string {
    const text = this.lines.join("\n");
    if (process.env["LEASEHOLD_SHOW"] === "1") process.stdout.write(`${text}\n`);
    return text;
  }
}
