import { eventually } from "../../../support/eventually.ts";
import type { OwnServer } from "../../../support/own-server.ts";
import type { Nemesis } from "../nemesis.ts";
import { monotonicMs } from "../processes/history-file.js";

const PROCESSES = ["client backend", "checkpointer", "postmaster", "whole server"] as const;
/** On a busy machine its log takes its time to be read again, ms. */
const RESTARTED_WITHIN_MS = 60_000;
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

/** One that had just ended by itself is killed in vain, and the server notices nothing: then another one is, after so long. */
const NOTICED_WITHIN_MS = 5_000;

/** Resolves when the server has noticed, and answers again. */
async function crash(server: OwnServer, type: string): Promise<void> {
  const checkpointer = () => pidOf(server, "checkpointer").catch(() => undefined);
  const before = await pidOf(server, "checkpointer");
  let killedMs = Number.NEGATIVE_INFINITY;
  await eventually(
    "the server has restarted its processes",
    async () => {
      const now = await checkpointer();
      if (now !== before) return now;
      if (monotonicMs() - killedMs < NOTICED_WITHIN_MS) return undefined;
      const victim = await pidOf(server, type).catch(() => undefined);
      if (victim === undefined) return now;
      killedMs = monotonicMs();
      kill(victim);
      return undefined;
    },
    RESTARTED_WITHIN_MS,
  );
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {} // it has ended by itself
}

async function pidOf(server: OwnServer, type: string): Promise<number | undefined> {
  const [row] = await server.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = $1 and pid <> pg_backend_pid() order by random() limit 1",
    [type],
  );
  return row?.pid;
}
