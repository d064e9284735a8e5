import { existsSync } from "node:fs";
import { InlineRenewer } from "./inline-renewer.ts";
import type { Renewer, RenewerNeeds } from "./renewer.ts";
import { ThreadRenewer } from "./thread-renewer.ts";

/** From sources there is no such file: Node starts no thread from TypeScript on every version that is supported. */
const THREAD_FILE = new URL("./renewal-thread.js", import.meta.url);

/** The renewer that was asked for, or, where no thread can be had, the inline one, which start-up then says (W2). */
export function openRenewer(choice: "thread" | "inline", needs: RenewerNeeds): Renewer {
  const { spec } = needs;
  if (choice === "thread" && spec !== undefined && existsSync(THREAD_FILE)) {
    return new ThreadRenewer(THREAD_FILE, { ...needs, spec });
  }
  if (choice === "thread" && !livesInMemory(needs.storeName)) {
    const why =
      spec === undefined ? "the store was given as a live handle" : "this program was bundled without it";
    const message = `no renewer thread, since ${why}: leases are renewed on the main loop, and a handler that blocks it may lose them`;
    needs.log({ level: "warning", kind: "renewal_inline", message });
  }
  return new InlineRenewer(needs.world, needs.renew, needs.contact);
}

/** Such a store ends with the process, so that nobody is there to take a lease over. */
function livesInMemory(storeName: string): boolean {
  return /(^|:| )memory(:|$)/.test(storeName);
}
