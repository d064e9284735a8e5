import type { Engine } from "./engine.ts";
import type { RunCounts } from "./events.ts";
import type { Worker } from "./worker.ts";

/**
 * Lets the worker run until nothing is due for it any more, then stops it.
 *
 * @throws {StoreUnusableError | SchemaVersionError} no waiting would mend it
 */
export async function drained(
  worker: Worker,
  engine: Engine,
  signal: AbortSignal | undefined,
): Promise<RunCounts> {
  let end!: () => void;
  const ended = new Promise<void>((resolve, reject) => {
    end = resolve;
    engine.onQuiet = resolve;
    engine.onHopeless = reject;
  });
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  try {
    await ended;
  } finally {
    signal?.removeEventListener("abort", end);
    engine.onQuiet = undefined;
    engine.onHopeless = undefined;
    await worker.stop();
  }
  return worker.counts;
}
