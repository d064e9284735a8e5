import type { Worker } from "../../index.ts";

/**
 * How a worker's first run ends: as the worker tells it, or `expired` when its own clock ended its trust and it did not
 * complete: it could not renew in time, which says nothing of its store. The worker is stopped in the same turn, so that no
 * second run begins; its handler may go on.
 */
export async function firstEnd(worker: Worker): Promise<string> {
  let stopped: Promise<void> | undefined;
  let hasExpired = false;
  worker.on("aborted", ({ reason }) => {
    hasExpired ||= reason === "lease_expired";
  });
  const end = await new Promise<string>((resolve) => {
    for (const name of ["completed", "retrying", "failed", "cancelled", "released", "lost"] as const) {
      worker.on(name, (event) => {
        // It came too late to be begun, and is claimed again.
        if ("why" in event && event.why === "untrusted") return;
        stopped ??= worker.stop();
        resolve("error" in event ? `${name}: ${String(event.error)}` : name);
      });
    }
  });
  await stopped;
  return hasExpired && end !== "completed" ? "expired" : end;
}
