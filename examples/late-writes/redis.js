// node examples/late-writes/redis.js redis://…: the late write would go to a key of that server, under names of its own
// that are removed at the end. It needs the package redis.

import { basename } from "node:path";
import { redisGuard } from "leasehold/destinations/redis";
import { createClient } from "redis";
import { tell } from "./story.js";

/** @param {string} folder */
const prefixOf = (folder) => `{${basename(folder)}}`;

/** @param {string} url */
const connected = (url) => createClient({ url }).on("error", console.error).connect();

await tell({
  async serve(folder) {
    const [address] = process.argv.slice(2);
    if (!address?.startsWith("redis")) {
      console.error("Give the address of a Redis server: redis://HOST:PORT");
      process.exit(2);
    }
    const close = async () => {
      const client = await connected(address);
      await client.del(await client.keys(`${prefixOf(folder)}*`));
      await client.close();
    };
    return { address, close };
  },

  async open({ folder, address }) {
    const prefix = prefixOf(folder);
    const client = await connected(address);
    const guard = redisGuard(client, { prefix });
    return {
      async write(lease, by) {
        await guard.write(lease, { step: "note" }, [["SET", `${prefix}:note`, `written by ${by}`]]);
        return by;
      },
      read: async () => String(await client.get(`${prefix}:note`)),
      close: () => client.close(),
    };
  },
});
