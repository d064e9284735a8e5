import pg from "pg";
import { inject, onTestFinished } from "vitest";
import { type PostgresVersion, postgresServer } from "./postgres-server.ts";

let databases = 0;

/** The address of an empty database of its own, until the end of the test. */
export async function emptyDatabase(version: PostgresVersion): Promise<string> {
  const server = await postgresServer(version, inject("servers"));
  databases += 1;
  const name = `own_${process.pid}_${databases}`;
  await rowsOf(server, `create database ${name}`);
  onTestFinished(async () => void (await rowsOf(server, `drop database ${name} with (force)`)));
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

/** The rows of one statement, on a connection of its own. */
export async function rowsOf(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
