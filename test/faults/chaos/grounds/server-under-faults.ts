import { type OwnServer, ownServer, type Settings } from "../../../support/own-server.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";

/**
 * A server that does not wait for the disk: what it has written outlives kill -9 all the same, and on a machine whose disk
 * is busy with other things the leases of a run would lapse for that alone. Its copies are like it.
 *
 * @param env of its processes
 */
export async function serverUnderFaults(
  version: PostgresVersion,
  settings: Settings = {},
  env?: Readonly<Record<string, string>>,
): Promise<OwnServer> {
  const server = await ownServer(version, settings, env);
  for (const name of ["fsync", "full_page_writes"]) await server.set(name, "off");
  return server;
}
