import { eventually } from "../../support/eventually.ts";
import type { OwnServer } from "../../support/own-server.ts";

/** From now on the standby hears nothing of what the primary writes. */
export async function makeLag(primary: OwnServer): Promise<void> {
  const [sender] = await primary.query<{ pid: number }>("select pid from pg_stat_replication");
  if (sender === undefined) throw new Error("the standby follows");
  process.kill(sender.pid, "SIGSTOP");
}

export async function caughtUp(primary: OwnServer, standby: OwnServer): Promise<void> {
  const [at] = await primary.query("select pg_current_wal_flush_lsn()::text as lsn");
  await eventually("the standby has it all", async () => {
    const [row] = await standby.query("select pg_last_wal_replay_lsn() >= $1::pg_lsn as has", [at?.["lsn"]]);
    return row?.["has"] === true;
  });
}
