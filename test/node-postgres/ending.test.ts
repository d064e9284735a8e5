import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { sleepBy } from "../../src/clock/sleep.ts";
import { systemWorld } from "../../src/clock/system.ts";
import { PoolEnd } from "../../src/node-postgres/ending.ts";

/** Takes connections as a server does that was stopped, and never says a word. */
async function silentServer(): Promise<{ readonly url: string; readonly connected: Promise<unknown> }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  const connected = once(server, "connection");
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://nobody@127.0.0.1:${port}/none`, connected };
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

it("a pool that is ended while a server is silent leaves no timer of a connection that it was making", async () => {
  const { url, connected } = await silentServer();
  const before = timers();
  const { timers: real } = systemWorld();
  // What would be waited for is over at once.
  const end = new PoolEnd({ ...real, sleep: sleepBy((_, fn) => real.after(0, fn)) });
  const pool = end.open(pg, { connectionString: url, connectionTimeoutMillis: 60_000 });
  const asked = expect(pool.query("select 1")).rejects.toThrow("terminated");
  await connected;
  await end.end();
  await asked;
  expect(timers()).toBe(before);
});
