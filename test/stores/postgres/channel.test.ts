import { describe, expect, it, onTestFinished } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import type { World } from "../../../src/clock/world.ts";
import { Channel } from "../../../src/stores/postgres/channel.ts";
import { loadPg } from "../../../src/stores/postgres/driver.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingOwnServer, type OwnServer, ownServer } from "../../support/own-server.ts";
import { type PostgresProxy, postgresProxy } from "../../support/postgres-proxy.ts";

/** Its timers run ten times as fast: deadlines of many seconds are met in the time that a test has. */
function hastyWorld(): World {
  const world = systemWorld();
  return {
    ...world,
    timers: { ...world.timers, after: (ms, fn, options) => world.timers.after(ms / 10, fn, options) },
  };
}

interface Faults {
  /** The way of the first connection, which is silent from when it is made. */
  readonly first?: PostgresProxy;
  /** Before our own notification is sent. */
  readonly notifying?: () => unknown;
}

interface Listening {
  readonly woken: () => number;
  readonly isUseless: () => boolean;
  notify(): Promise<unknown>;
  close(): Promise<void>;
  /** Of all connections that it has made, those whose sockets would keep a process alive. */
  holding(): number;
}

function listenTo(server: OwnServer, world: World, { first, notifying }: Faults): Listening {
  let woken = 0;
  let isUseless = false;
  let times = 0;
  const sockets: { readonly _handle: { hasRef(): boolean } | null }[] = [];
  const notify = (payload: string): Promise<unknown> =>
    server.query("select pg_notify('bell', $1)", [payload]);
  const channel = new Channel({
    name: "bell",
    world,
    async connect() {
      times += 1;
      const way = times === 1 ? first : undefined;
      const { Client } = await loadPg();
      const client = new Client({ connectionString: way?.url ?? server.url });
      onTestFinished(() => client.end());
      sockets.push((client as unknown as { connection: { stream: (typeof sockets)[0] } }).connection.stream);
      const connect = client.connect.bind(client);
      const connected = async (): Promise<void> => {
        await connect();
        way?.freeze();
      };
      return Object.assign(client, { connect: connected });
    },
    async notify(payload) {
      await notifying?.();
      await notify(payload);
    },
    serverProcess: async () => 0,
    onHeard: (payload) => {
      if (payload === "job") woken += 1;
    },
    onUseless() {
      isUseless = true;
    },
  });
  onTestFinished(() => channel.close());
  return {
    woken: () => woken,
    isUseless: () => isUseless,
    notify: () => notify("job"),
    close: () => channel.close(),
    holding: () => sockets.filter(({ _handle: handle }) => handle?.hasRef() === true).length,
  };
}

async function wakes({ woken, notify }: Listening): Promise<void> {
  const before = woken();
  await eventually("a wake-up", async () => {
    await notify();
    return woken() > before;
  });
}

optional("a listener on a PostgreSQL 18 that stands still", missingOwnServer(18), () => {
  describe("for longer than its own notification may take", () => {
    it("has not proved that notifications do not arrive: it hears them afterwards", async () => {
      const server = await ownServer(18);
      const listening = listenTo(server, systemWorld(), {
        notifying() {
          server.freeze();
          setTimeout(() => server.thaw(), 1_500);
        },
      });
      await wakes(listening);
      expect(listening.isUseless()).toBe(false);
    });

    it("nor has an event loop that stood still meanwhile", async () => {
      const server = await ownServer(18);
      const listening = listenTo(server, systemWorld(), {
        notifying() {
          // Once it is on its way.
          setImmediate(() => {
            for (const untilMs = performance.now() + 1_500; performance.now() < untilMs; );
          });
        },
      });
      await wakes(listening);
      expect(listening.isUseless()).toBe(false);
    });
  });
});

optional("a listener whose connection is silent from when it was taken", missingOwnServer(18), () => {
  it("has another one instead, and hears", async () => {
    const server = await ownServer(18);
    const first = await postgresProxy(server.url);
    onTestFinished(() => first.close());
    const listening = listenTo(server, hastyWorld(), { first });
    await wakes(listening);
    expect(listening.isUseless()).toBe(false);
  });

  it("does not let the one that it gave up keep a process alive that has closed it", async () => {
    const server = await ownServer(18);
    const listening = listenTo(server, hastyWorld(), {
      notifying() {
        server.freeze();
        return new Promise(() => {}); // so that it is waited for in vain
      },
    });
    // The first does not answer its goodbye, and the second gets no answer at all.
    try {
      await eventually("a second connection", () => listening.holding() === 2);
      await listening.close();
      expect(listening.holding()).toBe(0);
    } finally {
      server.thaw(); // those of the test wait for their ends
    }
  });
});
