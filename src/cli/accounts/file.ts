import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { file } from "../../destinations/file/index.ts";
import { type Account, type AccountPlace, type Entry, entryOf } from "./account.ts";

/** A JSON file that is replaced as a whole. */
export async function openFile({ folder }: AccountPlace): Promise<Account> {
  const path = join(folder, "account.json");
  const destination = file(path);
  return {
    destination,
    credit: (lease, cents) => {
      const entry = entryOf(lease, cents);
      return destination.write(lease, (current) => JSON.stringify([...entriesIn(current), entry]));
    },
    entries: async () => entriesIn(await readFile(path)),
    close: async () => {},
  };
}

function entriesIn(content: Buffer | undefined): Entry[] {
  return content === undefined ? [] : (JSON.parse(content.toString()) as Entry[]);
}
