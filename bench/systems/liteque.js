// liteque on better-sqlite3: how fast jobs go in, one at a time. It has no call for many. Its worker does not run with the
// better-sqlite3 that the others are measured with (a transaction of its own returns a promise, which is refused), so that
// nothing else can be told of it.

import { buildDBClient, SqliteQueue } from "liteque";
import { versions } from "./versions.js";

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "liteque",
    version: versions.liteque,
    on: "sqlite",
    takesPart: ["enqueue"],
    doors: [],
    jobsToDrain: {},
    atOnce: false,
    async open({ address, mode }) {
      const db = buildDBClient(address, { runMigrations: true });
      // Its own connection, which it hands out no other way: one of ours would not be the one that commits.
      const { client } = db.session;
      client.pragma(`synchronous = ${mode}`);
      const queue = new SqliteQueue("noop", db, {
        defaultJobArgs: { numRetries: 2 },
        keepFailedJobs: false,
      });
      return {
        add: (input) => queue.enqueue(input),
        work() {
          throw new Error("It takes no part in what needs a worker.");
        },
        close: async () => void client.close(),
      };
    },
  },
];
