/**
 * The renewer thread's first file. It has a connection of its own, which a busy pool cannot starve, and a loop of its
 * own, which a busy handler cannot block. It ends when told, after its last statement: a thread that is terminated in
 * the middle of a native call can take the process with it.
 */

import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemWorld } from "../clock/system.ts";
import type { Fence, NamedFence } from "../protocol/identity.ts";
import type { CallOptions, RenewalStore } from "../stores/store.ts";
import { RenewalLoop } from "./renewal-loop.ts";
import type { ThreadData, ToThread } from "./renewal-messages.ts";
import { SlotTable } from "./slots.ts";

const { table, owner, maxBlockedMs, module, options } = workerData as ThreadData;
const port = parentPort as MessagePort;
const { openRenewal } = (await import(module)) as {
  openRenewal(options: ThreadData["options"]): Promise<RenewalStore>;
};
const store = await openRenewal(options);
const renew = (fences: readonly (Fence & NamedFence)[], call: CallOptions) =>
  owner === undefined ? store.renewLeases(fences, call) : store.renew(fences, call);
const loop = new RenewalLoop(systemWorld(), renew, owner, maxBlockedMs, (message) =>
  port.postMessage(message),
);

port.on("message", (message: ToThread) => {
  if (message.kind === "table") loop.addTable(new SlotTable(message.table));
  else if (message.kind === "named") loop.name(message.slot, message.version, message.fence);
  else if (message.kind === "wake") loop.wake();
  else if (message.kind === "renewNow") void renewNow(message.call);
  else void close();
});
loop.addTable(new SlotTable(table));
loop.wake();

async function renewNow(call: number): Promise<void> {
  let problem: string | undefined;
  try {
    await loop.renewNow();
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  port.postMessage({ kind: "renewedNow", call, problem });
}

async function close(): Promise<void> {
  await loop.close();
  await store.close();
  port.close();
}
