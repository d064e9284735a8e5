import { eventually } from "../../../support/eventually.ts";
import type { OwnServer } from "../../../support/own-server.ts";
import type { Nemesis } from "../nemesis.ts";

const PROCESSES = ["client backend", "checkpointer", "postmaster", "whole server"] as const;
/** In leases: how long the server is away, when somebody has to start it again. */
const AWAY = [0, 1.5] as const;

/** kill -9 of one process of the server, upon which it restarts all of them, or of the one that could; then it is started. */
export function storeCrash(server: OwnServer): Nemesis {
  return {
    name: "store crash",
    seizes: "store",
    async begin(controller, chance) {
      const which = chance.of(PROCESSES);
      const request = controller.began("store crash", "store", { which });
      if (which === "client backend" || which === "checkpointer") {
        await crash(server, which);
      } else {
        await server.kill(which === "postmaster" ? which : "all");
        await controller.lasts(chance.between(...AWAY) * controller.leaseMs);
        await server.start();
      }
      controller.ended("store crash", request, "store");
      return true;
    },
  };
}

/** Resolves when the server has noticed, and answers again. */
async function crash(server: OwnServer, type: string): Promise<void> {
  const checkpointer = () => pidOf(server, "checkpointer");
  const before = await checkpointer();
  const victim = await pidOf(server, type);
  if (victim !== undefined) process.kill(victim, "SIGKILL");
  await eventually("the server has restarted its processes", async () => {
    const now = await checkpointer().catch(() => undefined);
    return now !== undefined && (now !== before || victim === undefined);
  });
}

async function pidOf(server: OwnServer, type: string): Promise<number | undefined> {
  const [row] = await server.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = $1 and pid <> pg_backend_pid() order by random() limit 1",
    [type],
  );
  return row?.pid;
}
