import { channelOf } from "../../destinations/redis/client.ts";
import { redisGuard } from "../../destinations/redis/index.ts";
import { openClient } from "../../destinations/redis/own-client.ts";
import { type Account, type AccountPlace, type Entry, entryOf } from "./account.ts";

/** A list on the given server, under names of its own that are removed at the end. */
export async function openRedis({ address, name }: AccountPlace): Promise<Account> {
  const { client, close } = await openClient(address);
  const server = channelOf(client);
  const prefix = `{${name}}`;
  const entries = `${prefix}:entries`;
  const guard = redisGuard(client, { prefix });
  return {
    destination: guard,
    credit: (lease, cents) => {
      const entry = entryOf(lease, cents);
      return guard.write(lease, { step: "credit", request: { cents } }, [
        ["RPUSH", entries, JSON.stringify(entry)],
      ]);
    },
    entries: async () => {
      const found = (await server.command("LRANGE", entries, "0", "-1")) as readonly unknown[];
      return found.map((entry) => JSON.parse(String(entry)) as Entry);
    },
    remove: async () => {
      const keys = (await server.command("KEYS", `${prefix}*`)) as readonly unknown[];
      if (keys.length > 0) await server.command("DEL", ...keys.map(String));
    },
    close,
  };
}
