// A second process on one store: runs the calls that its parent sends, one message each. Not a test by itself.

import { postgres } from "../../dist/stores/postgres/index.js";
import { sqlite } from "../../dist/stores/sqlite/index.js";

const [, , address = "", schema] = process.argv;
const store =
  schema === undefined
    ? sqlite({ path: address, sweepMs: 0 })
    : postgres({ connectionString: address, schema, sweepMs: 0 });

process.on(
  "message",
  async (/** @type {{ id: number, method: string, args: unknown[] }} */ { id, method, args }) => {
    try {
      const value = await Reflect.apply(Reflect.get(store, method), store, args);
      process.send?.({ id, value });
    } catch (error) {
      process.send?.({ id, error: String(error) });
    }
  },
);
