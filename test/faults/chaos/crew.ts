import { Child } from "../../support/child.ts";
import type { Ground } from "./ground.ts";
import { Member, type MemberOrders } from "./member.ts";
import { type About, type HistoryFile, monotonicMs } from "./processes/history-file.js";
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
  const common = { ...settings, histories, concurrency: CONCURRENCY };
  const members = Array.from({ length: WORKERS }, (_, i) => {
    const home = ground.homeOf?.(i) ?? {};
    const orders: MemberOrders = {
      ...common,
      store: ground.storeOf?.(i) ?? ground.store,
      databaseUrl: ground.databaseUrl,
      destination: withHost(destination, home.host),
    };
    return new Member(`worker ${i + 1}`, folder, orders, home);
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
        if (!stopped[i]) history.note("hung", hung(member));
      }
    },
    end: async () => void (await Promise.all(members.map((member) => member.end()))),
  };
}

/** Who did not end when it was told to. */
export function hung({ name, incarnation }: Member): About {
  return { target: name, detail: { incarnation } };
}

/** The same place at another of this machine's addresses. */
export function withHost(url: string, host: string | undefined): string {
  const address = new URL(url);
  if (host !== undefined) address.hostname = host;
  return address.href;
}

export interface Destination {
  readonly url: string;
  readonly child: Child;
  /** Which tells how busy the machine is. */
  readonly startedInMs: number;
}

/** The destinations `http` and `blind`, at these addresses of this machine. */
export async function startDestination(
  path: string,
  hosts: readonly string[] = ["127.0.0.1"],
): Promise<Destination> {
  const askedMs = monotonicMs();
  const child = new Child(new URL("./processes/destination.js", import.meta.url).pathname, [path, ...hosts]);
  const port = await child.tells("listening");
  return { url: `http://${hosts[0]}:${port}`, child, startedInMs: monotonicMs() - askedMs };
}
