import { Child } from "../../support/child.ts";
import type { Ground } from "./ground.ts";
import { Member, type MemberOrders } from "./member.ts";
import type { HistoryFile } from "./processes/history-file.js";
import { CONCURRENCY, SETTINGS, WORKERS } from "./settings.ts";

/** The workers, and the process with the destinations that they write to. */
export interface Crew {
  readonly members: readonly Member[];
  /** In order: whoever works is done when it resolves. */
  stop(): Promise<void>;
  /** Whatever state they are in. */
  end(): Promise<void>;
}

export async function startCrew(
  ground: Ground,
  folder: string,
  histories: string,
  history: HistoryFile,
  destination: string,
): Promise<Crew> {
  const orders: MemberOrders = {
    ...SETTINGS,
    histories,
    store: ground.store,
    databaseUrl: ground.databaseUrl,
    destination,
    concurrency: CONCURRENCY,
  };
  const members = Array.from({ length: WORKERS }, (_, i) => new Member(`worker ${i + 1}`, folder, orders));
  for (const member of members) {
    member.onExit((code, signal) =>
      history.note("exited", {
        target: member.name,
        detail: { incarnation: member.incarnation, code, signal },
      }),
    );
  }
  await Promise.all(members.map((member) => member.start()));
  return {
    members,
    async stop() {
      const stopped = await Promise.all(members.map((member) => member.stop()));
      for (const [i, member] of members.entries()) {
        if (!stopped[i]) history.note("hung", { target: member.name });
      }
    },
    end: async () => void (await Promise.all(members.map((member) => member.end()))),
  };
}

/** The destinations `http` and `blind`. */
export async function startDestination(
  path: string,
): Promise<{ readonly url: string; readonly child: Child }> {
  const child = new Child(new URL("./processes/destination.js", import.meta.url).pathname, [path]);
  const port = await child.tells("listening");
  return { url: `http://127.0.0.1:${port}`, child };
}
