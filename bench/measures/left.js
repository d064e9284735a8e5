// Whether a job is left, as the server says: what a worker believes to have done is not asked.

/** @param {import("../systems/system.js").System} system */
export function tellsWhatIsLeft({ unfinished, unfinishedLists }) {
  return unfinished !== undefined || unfinishedLists !== undefined;
}

/**
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {import("../systems/system.js").Place} place
 * @returns {Promise<boolean>}
 */
export async function isLeft({ unfinished, unfinishedLists = [] }, { server, redis }, { schema }) {
  if (unfinished !== undefined) return server.asks(unfinished.replaceAll("{schema}", schema));
  // In the order in which a job goes through them, so that none slips past.
  for (const list of unfinishedLists) {
    if (await redis.hasAny(list.replaceAll("{schema}", schema))) return true;
  }
  return false;
}
