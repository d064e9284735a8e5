import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

export type Wish =
  | { readonly endProcessesIn: string }
  | { readonly remove: string }
  | { readonly run: readonly string[] };

let executor: ChildProcess | undefined;
let wishes = 0;

/**
 * Has `wish` done when this process ends, however it ends: a killed test leaves no server, folder or network behind. The
 * last wish is done first. To be asked for before what it undoes is done.
 *
 * @returns takes it back
 */
export function lastWill(wish: Wish): () => void {
  executor ??= startExecutor();
  wishes += 1;
  const id = wishes;
  executor.send({ id, wish });
  return () => void executor?.send({ id });
}

function startExecutor(): ChildProcess {
  // Detached: what ends the test from the keyboard must not end this one.
  const child = fork(fileURLToPath(new URL("./last-will.js", import.meta.url)), [], {
    detached: true,
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.unref();
  child.channel?.unref();
  return child;
}
