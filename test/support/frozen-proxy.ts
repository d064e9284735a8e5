import { connect, createServer, type Server, type Socket } from "node:net";

/** A way to a server that can be frozen: connections stay open, and nothing goes through any more. */
export interface FreezableProxy {
  /** `url` with this proxy in the place of its host and port. */
  readonly url: string;
  freeze(): void;
  close(): Promise<void>;
}

export async function freezableProxy(url: string): Promise<FreezableProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server: Server = createServer((here) => {
    const there = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [here, there],
      [there, here],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
      from.on("data", (bytes) => {
        if (!isFrozen) to.write(bytes);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  return {
    url: through.href,
    freeze: () => {
      isFrozen = true;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
