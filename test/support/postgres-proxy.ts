import { createServer, type Server } from "node:net";
import { type Loss, ProxiedSession, type StatementMatch } from "./postgres-session.ts";

/** A way to a server on which things get lost. */
export interface PostgresProxy {
  /** The server's address with this proxy in the place of its host and port. */
  readonly url: string;
  /**
   * Loses one request or reply: the next that matches, on whichever connection, and not a reply that tells an error.
   * Several may be asked for. Resolves when it is lost.
   */
  lose(what: Loss["what"], of: StatementMatch, by?: Loss["by"]): Promise<void>;
  /** Connections stay open, and nothing goes through any more. */
  freeze(): void;
  close(): Promise<void>;
}

export async function postgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  const to = { host: target.hostname, port: Number(target.port || 5432) };
  const sessions: ProxiedSession[] = [];
  const losses = new Set<Loss>();
  let isFrozen = false;
  const server: Server = createServer((here) => {
    const session = new ProxiedSession(here, to, losses);
    sessions.push(session);
    if (isFrozen) session.silence();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const through = new URL(url);
  through.host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  return {
    url: through.href,
    lose: (what, of, by = "reset") => new Promise((resolve) => losses.add({ what, of, by, struck: resolve })),
    freeze() {
      isFrozen = true;
      for (const session of sessions) session.silence();
    },
    async close() {
      for (const session of sessions) session.end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
