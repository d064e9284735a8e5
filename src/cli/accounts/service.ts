import { fileURLToPath } from "node:url";
import type { Children } from "../children.ts";

const SERVICE = fileURLToPath(new URL("./service-process.js", import.meta.url));

/** Starts the service with a database of its own. @returns its address */
export async function startService(children: Children, databasePath: string): Promise<string> {
  const service = children.start<{ readonly url: string }>(SERVICE, databasePath, "The service");
  return (await service.next()).url;
}
