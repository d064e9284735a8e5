// What a process's statements on PostgreSQL carry that could be a time, written down before they are sent.

import pg from "pg";

/** Thirteen digits: ms since 1970, from 2001 to 2286. */
const TIMES = /\b\d{13}\b/g;

/** @typedef {import("./history-file.js").HistoryFile} HistoryFile */
/** @typedef {(...args: any[]) => unknown} Query */

/**
 * For the store's `trace`. Schedules keep times that the server's own clock has shown.
 *
 * @param {HistoryFile} history
 */
export function timesTold(history) {
  history.note("statements watched");
  return (/** @type {string} */ statement, /** @type {readonly unknown[]} */ values) => {
    const parameters = statement.includes("schedule") ? null : JSON.stringify(values).match(TIMES);
    if (parameters === null) return;
    history.note("statement", { detail: { statement, parameters: parameters.map(Number) } });
  };
}

/** For the renewer's thread, whose store is opened from its address alone. @param {HistoryFile} history */
export function watchStatements(history) {
  const tell = timesTold(history);
  const client = /** @type {{ query: Query }} */ (pg.Client.prototype);
  const { query } = client;
  client.query = function (...args) {
    const [first, second] = args;
    tell("renewal", first?.values ?? (Array.isArray(second) ? second : []));
    return query.apply(this, args);
  };
}
