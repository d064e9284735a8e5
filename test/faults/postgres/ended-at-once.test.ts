import { connect, createServer } from "node:net";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { postgresGuard } from "../../../src/destinations/postgres/index.ts";
import { StoreBusyError } from "../../../src/errors.ts";
import { postgres } from "../../../src/stores/postgres/index.ts";
import { CALL, newJob } from "../../stores/postgres/world.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres, postgresServer } from "../../support/postgres-server.ts";
import { endsAnswer, MessageReader } from "../../support/postgres-wire.ts";

/** What a server says to those who are connected when it shuts down. */
function goodbye(): Buffer {
  const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command"];
  const body = Buffer.from(`${fields.join("\0")}\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A way to the server on which every connection is ended in the very packet that lets its client in. */
async function endingAtOnce(url: string): Promise<{ readonly url: string; ended(): number }> {
  const target = new URL(url);
  let ended = 0;
  const server = createServer((here) => {
    const there = connect(Number(target.port), target.hostname);
    for (const socket of [here, there]) socket.on("error", () => {});
    here.pipe(there);
    here.on("close", () => there.destroy());
    const answers = new MessageReader("server");
    let held = Buffer.alloc(0);
    there.on("data", (bytes) => {
      const messages = answers.push(bytes);
      held = Buffer.concat([held, ...messages.map((message) => message.bytes)]);
      if (messages.some(endsAnswer)) {
        ended += 1;
        here.end(Buffer.concat([held, goodbye()]));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const through = new URL(url);
  const address = server.address();
  through.port = String(typeof address === "object" ? address?.port : "");
  return { url: through.href, ended: () => ended };
}

optional("a PostgreSQL 18 that ends connections as soon as they stand", missingPostgres(18), () => {
  // An event that nobody listens to would end the process, and vitest tells of it as an error of this file.
  describe("a new connection of the store", () => {
    it("C11 fails its call as busy, and nothing else", async () => {
      const way = await endingAtOnce(await postgresServer(18, inject("servers")));
      const store = postgres({ connectionString: way.url });
      onTestFinished(() => store.close());
      await expect(store.enqueue([newJob()], CALL)).rejects.toThrow(StoreBusyError);
      await eventually("it was the connection", () => way.ended() > 0);
    });
  });

  describe("a new connection of the guard", () => {
    it("C11 fails its call as busy, and nothing else", async () => {
      const way = await endingAtOnce(await postgresServer(18, inject("servers")));
      const guard = postgresGuard({ connectionString: way.url });
      onTestFinished(() => guard.close());
      await expect(guard.migrate()).rejects.toThrow(StoreBusyError);
      await eventually("it was the connection", () => way.ended() > 0);
    });
  });
});
