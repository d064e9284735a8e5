/** @typedef {{ claims: number, longestWriteMs: number }} Seen what was asked of one store, and the longest wait for an answer */

/**
 * Counts a store's claims and times its claims and settlements, from the call to the answer.
 *
 * @param {import("../../dist/index.js").Store} store changed in place
 * @returns {Seen} brought up to date with every answer
 */
export function watch(store) {
  const seen = { claims: 0, longestWriteMs: 0 };
  for (const operation of ["claim", "settle"]) {
    const asIs = store[operation].bind(store);
    store[operation] = async (...args) => {
      if (operation === "claim") seen.claims++;
      const askedMs = performance.now();
      try {
        return await asIs(...args);
      } finally {
        seen.longestWriteMs = Math.max(seen.longestWriteMs, performance.now() - askedMs);
      }
    };
  }
  return seen;
}
