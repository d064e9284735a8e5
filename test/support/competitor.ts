import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Store } from "../../src/stores/store.ts";
import type { Competitor } from "../../src/testing/index.ts";

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/**
 * Starts a process that has the same store open, and passes it every call that is made on `store`.
 *
 * @param address the SQLite file; or a connection string, then with the `schema`
 */
export function startCompetitor(address: string, schema?: string): Competitor {
  const script = fileURLToPath(new URL("./competitor.js", import.meta.url));
  // "advanced": structured clones, so that `undefined` survives. No flags of the test runner's own process.
  const child = fork(script, schema === undefined ? [address] : [address, schema], {
    serialization: "advanced",
    execArgv: [],
  });
  const pending = new Map<number, (reply: Reply) => void>();
  let calls = 0;

  child.on("message", (reply: Reply) => {
    pending.get(reply.id)?.(reply);
    pending.delete(reply.id);
  });
  child.on("exit", () => {
    for (const [id, answer] of pending) answer({ id, error: "the competitor has ended" });
    pending.clear();
  });

  const call = (method: string, args: unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++calls;
      pending.set(id, ({ value, error }) =>
        error === undefined ? resolve(value) : reject(new Error(error)),
      );
      child.send({ id, method, args });
    });
  const store = new Proxy({} as Store, {
    get: (_, method) => (method === "then" ? undefined : (...args: unknown[]) => call(String(method), args)),
  });
  return { store, kill: () => kill(child) };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
