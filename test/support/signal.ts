/** What one part of a test gives and another waits for. */
export function signal(): { give(): void; readonly given: Promise<void> } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { give, given };
}
