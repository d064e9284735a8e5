/** Looked at so often, ms. */
const LOOK_EVERY_MS = 20;

/**
 * Waits until `look` finds something: a value that is neither undefined nor false.
 *
 * @param what for the message of a test that waits in vain
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = 20_000,
): Promise<T> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadlineMs) throw new Error(`Not within ${withinMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
