// node examples/late-writes/sqlite.js: the late write would go to a table of a SQLite file.

import { join } from "node:path";
import { sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase } from "leasehold/sqlite";
import { tell } from "./story.js";

await tell({
  async open({ folder }) {
    const database = await openDatabase(join(folder, "data.db"));
    database.exec("create table if not exists note (text text)");
    const guard = sqliteGuard(database);
    return {
      write: (lease, by) =>
        guard.write(lease, { step: "note" }, () => {
          database.prepare("insert into note values (?)").run(`written by ${by}`);
          return by;
        }),
      read: async () =>
        database
          .prepare("select text from note")
          .all()
          .map(({ text }) => text)
          .join(", "),
      close: () => database.close(),
    };
  },
});
