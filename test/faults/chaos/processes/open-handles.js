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

/** The same at the end: what is being closed is given the turns that it takes. */
export async function handlesLeft() {
  const { [DISPATCHER]: dispatcher } =
    /** @type {Record<symbol, { destroy(): Promise<void> } | undefined>} */ (
      /** @type {unknown} */ (globalThis)
    );
  await dispatcher?.destroy();
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  return openHandles();
}
