import { Child } from "../../support/child.ts";
import type { Ground } from "./ground.ts";
import { Member, type MemberOrders } from "./member.ts";
import { type HistoryFile, monotonicMs } from "./processes/history-file.js";
import { CONCURRENCY, type Settings, WORKERS } from "./settings.ts";

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
  settings: Settings,
): Promise<Crew> {
  const orders: MemberOrders = {
    ...settings,
    histories,
    store: ground.store,
    databaseUrl: ground.databaseUrl,
    destination,
    concurrency: CONCURRENCY,
  };
  const members = Array.from({ length: WORKERS }, (_, i) => {
    const store = ground.storeOf?.(i) ?? ground.store;
    return new Member(`worker ${i + 1}`, folder, { ...orders, store });
  });
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

export interface Destination {
  readonly url: string;
  readonly child: Child;
  /** Which tells how busy the machine is. */
  readonly startedInMs: number;
}

/** The destinations `http` and `blind`. */
export async function startDestination(path: string): Promise<Destination> {
  const askedMs = monotonicMs();
  const child = new Child(new URL("./processes/destination.js", import.meta.url).pathname, [path]);
  const port = await child.tells("listening");
  return { url: `http://127.0.0.1:${port}`, child, startedInMs: monotonicMs() - askedMs };
}
