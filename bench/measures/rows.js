// A system's waiting jobs in a place of its own, as many as are wanted: one is enqueued as always, and copied in its table.

import { inputOf } from "../systems/system.js";
import { openPostgresRows } from "./postgres-rows.js";
import { openSqliteRows } from "./sqlite-rows.js";

/** @typedef {Awaited<ReturnType<typeof openRows>>} Rows */

/**
 * @param {import("../systems/system.js").System} system one that tells its `row`
 * @param {import("../cases.js").Setting} setting
 * @param {import("../systems/system.js").Place} place
 * @param {{ isEmpty?: boolean }} [how] `isEmpty` false: the place has jobs already, and none is to be added
 */
export async function openRows(system, setting, place, { isEmpty = true } = {}) {
  const { table, given, waiting } = /** @type {NonNullable<typeof system.row>} */ (system.row);
  const isPostgres = setting.database === "postgres";
  const rows = isPostgres
    ? await openPostgresRows(place.address, place.schema)
    : await openSqliteRows(place.address);
  const add = async () => {
    const opened = await system.open(place);
    await opened.add(inputOf(0));
    await opened.close();
  };
  let last = 0;
  const fill = async (/** @type {number} */ count) => {
    await rows.copy("plain", table, count, given, last + 1);
    last += count;
  };
  if (isEmpty) {
    await add();
    await rows.keep("plain", table);
    await fill(1);
    await add();
    if (!(await rows.areAlike(table, given)))
      throw new Error(`a copied job of ${system.name} differs from one that it has enqueued itself`);
  }
  const { unfinished } = system;
  const left = async () => (unfinished === undefined ? undefined : rows.count(unfinished));
  return {
    /** Rows of other kinds. */
    keep: rows.keep,
    copy: rows.copy,
    /** How many jobs are left by what the database says; undefined where it is not asked. */
    left,
    /** Until so many wait; and cleaned up, as what dead rows cost is measured elsewhere. @param {number} count */
    async fillTo(count) {
      const missing = count - (await rows.count(waiting));
      if (missing > 0) await fill(missing);
      await rows.rest(table);
    },
    /** The same for other tables too. */
    rest: (/** @type {string[]} */ ...others) => rows.rest(table, ...others),
    close: rows.close,
  };
}
