// One PostgreSQL for a whole run, as it comes (fsync, synchronous_commit and full_page_writes on), with more memory and
// room between checkpoints than a small default install.

import { chmodSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import pg from "pg";
import EmbeddedPostgres from "pg18";
import { freshFolder, removed } from "./place.js";

/** So many connections are for the cases with fifty workers, each with its own. */
const SETTINGS = { shared_buffers: "1GB", max_wal_size: "4GB", max_connections: 500 };

/** @typedef {Awaited<ReturnType<typeof startServer>>} Server */

export async function startServer() {
  const folder = freshFolder("server");
  chmodSync(folder, 0o755); // run by root, the server gets another user
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: `${folder}/data`,
    port,
    user: "postgres",
    password: "postgres",
    createPostgresUser: process.geteuid?.() === 0,
    persistent: false,
    postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const address = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  const client = new pg.Client({ connectionString: address });
  client.on("error", () => {});
  await client.connect();
  const { rows } = await client.query("show server_version");
  return {
    address,
    version: rows[0].server_version,
    settings: SETTINGS,
    /** Whose children the connections' processes are. */
    pid: Number(readFileSync(`${folder}/data/postmaster.pid`, "utf8").split("\n")[0]),
    /** @param {string} text @returns {Promise<boolean>} whether it gives a row */
    asks: async (text) => (await client.query(`select exists (${text}) as found`)).rows[0].found,
    /** What one system has left to be written is not to be paid for by the next. */
    checkpoint: () => client.query("checkpoint"),
    /** @param {string} schema */
    drop: (schema) => client.query(`drop schema if exists ${schema} cascade`),
    async stop() {
      await client.end();
      await server.stop();
      removed(folder);
    },
  };
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}
