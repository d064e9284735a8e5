// What keeps a process alive, by kind, as Node tells it.

/** Node's own client keeps its connections to the destinations for the next request: they are nobody's leak. */
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

/** @returns {Record<string, number>} */
export function openHandles() {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** What is being closed is given so many turns of the event loop. */
const TURNS = 50;

/** The same at the end. */
export async function handlesLeft() {
  const { [DISPATCHER]: dispatcher } =
    /** @type {Record<symbol, { destroy(): Promise<void> } | undefined>} */ (
      /** @type {unknown} */ (globalThis)
    );
  await dispatcher?.destroy();
  for (let turns = 0; turns < TURNS; turns++) await new Promise((resolve) => setImmediate(resolve));
  return openHandles();
}
