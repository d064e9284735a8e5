import type { World } from "../../clock/world.ts";
import { noNotifications, type Warn } from "../warnings.ts";
import { listeningConnection } from "./address.ts";
import { Bell } from "./bell.ts";
import type { Calls } from "./calls.ts";
import { Channel } from "./channel.ts";
import type { PostgresOptions } from "./options.ts";

const TIMEOUT_MS = 5_000;

export interface StoreBellNeeds {
  readonly calls: Calls;
  readonly options: PostgresOptions;
  readonly world: World;
  readonly place: Place;
  /** For people. */
  readonly store: string;
  readonly warn: Warn;
  /** Another process has made something due. */
  readonly onTold: () => void;
}

/** Where this schema's wake-ups go, and what this process is called there. */
export interface Place {
  readonly channel: string;
  readonly me: string;
}

/** A store's bell, which hears and tells other processes over the store's own connections. */
export function storeBell({ calls, options, world, place, store, warn, onTold }: StoreBellNeeds): Bell {
  const { channel: name, me } = place;
  // Notifications were found not to arrive; once is enough to try, and to warn.
  let isDeaf = false;
  const notify = async (payload: string): Promise<void> => {
    const [connections, call] = await calls.begin("wake", { timeoutMs: TIMEOUT_MS }, false);
    await connections.on(call).rows("wake", [name, payload]);
  };
  const serverProcess = async (): Promise<number> => {
    const [connections, call] = await calls.begin("look at the connection", { timeoutMs: TIMEOUT_MS }, false);
    const [row] = await connections.on(call).rows<{ pid: number }>("server process");
    return row?.pid ?? 0;
  };
  const listen = (onHeard: (payload: string | undefined) => void): Channel | undefined => {
    if (options.listen === false || isDeaf) return undefined;
    return new Channel({
      name,
      world,
      connect: () => listeningConnection(options),
      notify,
      serverProcess,
      onHeard,
      onUseless: () => {
        if (isDeaf) return;
        isDeaf = true;
        warn(noNotifications(store));
      },
    });
  };
  return new Bell({ world, me, notify, listen, onTold });
}
