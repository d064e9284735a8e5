// Works on one job `job` whose handler opens a transaction of its own on the very pool or handle that the store works on,
// ends it as the test asked for (`commit`, `rollback`, `throw`, `leave open`, `die`), and goes on until the test says so.

import { defineJob, Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";
import { openDatabase, sqlite } from "leasehold/sqlite";
import pg from "pg";
import { address, given, tell, tellAll } from "./support.js";

const isPostgres = address.startsWith("postgres");
const pool = new pg.Pool({ connectionString: address, max: 4 });
pool.on("error", () => {});
const handle = isPostgres ? undefined : await openDatabase(address);
const store = handle === undefined ? postgres({ pool }) : sqlite({ database: handle });

/** @type {(value: unknown) => void} */
let finish;
const job = defineJob({
  name: "job",
  async run({ job: { attempt } }) {
    if (attempt > 1) return "run again";
    const client = handle === undefined ? await pool.connect() : undefined;
    client?.on("error", () => {});
    const run = async (/** @type {string} */ text) =>
      client === undefined ? handle?.exec(text) : client.query(text);
    await run(handle === undefined ? "begin" : "begin immediate");
    await run("insert into note values ('written in a transaction')");
    tell("written");
    if (given.how === "die") process.kill(process.pid, "SIGKILL");
    if (given.how === "commit" || given.how === "rollback") await run(given.how);
    if (given.how !== "leave open") client?.release(given.how === "throw");
    if (given.how === "throw") {
      if (handle !== undefined) await run("rollback");
      throw new Error("in a transaction");
    }
    tell("over");
    await new Promise((resolve) => {
      finish = resolve;
    });
    return "the first run's";
  },
});
const leasehold = new Leasehold({ store, callTimeoutMs: 20_000, log: () => {} });
tellAll(leasehold.work([job], { concurrency: 1 }));
process.on("message", () => finish(undefined));
