// What a process's statements on PostgreSQL carry that could be a time, written down before they are sent.

import pg from "pg";

/** Thirteen digits: ms since 1970, from 2001 to 2286. */
const TIMES = /\b\d{13}\b/g;

/** @typedef {(...args: any[]) => unknown} Query */

/** From now on, in this thread. @param {import("./history-file.js").HistoryFile} history */
export function watchStatements(history) {
  history.note("statements watched");
  const client = /** @type {{ query: Query }} */ (pg.Client.prototype);
  const { query } = client;
  client.query = function (...args) {
    const [first, second] = args;
    const values = first?.values ?? (Array.isArray(second) ? second : []);
    const parameters = (JSON.stringify(values) ?? "").match(TIMES);
    if (parameters !== null) history.note("statement", { detail: { parameters: parameters.map(Number) } });
    return query.apply(this, args);
  };
}
