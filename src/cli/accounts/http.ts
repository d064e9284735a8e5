import { httpDestination } from "../../destinations/http/index.ts";
import { type Account, type AccountPlace, type Entry, entryOf } from "./account.ts";

/** A service of the command's own, in a process of its own: what it does with a request is in `service-process.ts`. */
export async function openHttp({ service }: AccountPlace): Promise<Account> {
  const destination = httpDestination({ url: `${service}/account` });
  return {
    destination,
    async credit(lease, cents) {
      const entry = entryOf(lease, cents);
      const response = await destination.fetch(lease, "", {
        step: "credit",
        request: { cents }, // the generation is another one each time
        method: "POST",
        body: JSON.stringify(entry),
      });
      if (!response.ok) throw new Error(await response.text());
    },
    entries: async () => (await (await fetch(`${service}/entries`)).json()) as Entry[],
    close: async () => {},
  };
}
