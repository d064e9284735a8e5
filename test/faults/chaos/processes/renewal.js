// What the renewer thread of a worker under test imports instead of the store's own module: that one, with what it is asked
// and what it answers written into the process's history by the thread itself.

import { Faults } from "./faults.js";
import { HistoryFile } from "./history-file.js";
import { tellLoopDelays } from "./loop-delay.js";
import { recordedRenew } from "./recorded-store.js";

/** Far above what the main loop counts to. */
const FIRST_REQUEST = 1_000_000;

/**
 * @typedef {{
 *   readonly module: string,
 *   readonly options: Record<string, unknown>,
 *   readonly folder: string,
 *   readonly name: string,
 *   readonly incarnation: number,
 *   readonly faults: SharedArrayBuffer,
 *   readonly isWatched: boolean,
 * }} RecordedRenewal
 */

/** @param {RecordedRenewal} recorded */
export async function openRenewal({ module, options, folder, name, incarnation, faults: buffer, isWatched }) {
  const history = new HistoryFile(folder, name, incarnation, FIRST_REQUEST);
  tellLoopDelays(history, "renewer");
  if (isWatched) (await import("./statements.js")).watchStatements(history);
  const faults = new Faults(history, name, buffer);
  const { openRenewal: open } = await import(module);
  const store = await open(options);
  const renew = recordedRenew(store.renew.bind(store), history, faults);
  return {
    renew: (/** @type {unknown[]} */ ...args) => {
      // The thread's world is its own: here the request's time has been taken, and nothing has been sent.
      faults.reached("in-renewal");
      return renew(...args);
    },
    renewLeases: store.renewLeases.bind(store),
    close: () => store.close(),
  };
}
