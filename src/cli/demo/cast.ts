/** Starting the demo's processes, and hearing from them. */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { CliError, EXIT } from "../exit.ts";
import type { PlayerArguments, Report, Step, Who } from "./report.ts";

export interface Player {
  readonly who: Who;
  readonly pid: number;
  /** The next report, which must be of `step`: the parts are written down, so anything else is a bug. */
  hear(step: Step): Promise<Report>;
  /** Lets a player that waits go on. */
  tell(): void;
}

export interface Cast {
  /** Resolves to its address. */
  startService(databasePath: string): Promise<string>;
  startPlayer(part: PlayerArguments): Player;
  /** Ends whatever still runs, frozen or not; nothing starts from then on. */
  dismiss(): void;
}

const SERVICE = fileURLToPath(new URL("./service-process.js", import.meta.url));
const PLAYER = fileURLToPath(new URL("./player-process.js", import.meta.url));

export function gather(): Cast {
  const children: ChildProcess[] = [];
  let isDismissed = false;
  const start = (script: string, argument: string): ChildProcess => {
    if (isDismissed) throw new CliError(EXIT.failed, "The demo was stopped.");
    const child = fork(script, [argument], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    children.push(child);
    return child;
  };

  return {
    async startService(databasePath) {
      const messages = inbox<{ readonly url: string }>(start(SERVICE, databasePath), "The service");
      return (await messages.next()).url;
    },

    startPlayer(part) {
      const child = start(PLAYER, JSON.stringify(part));
      const messages = inbox<Report>(child, `Process ${part.who}`);
      return {
        who: part.who,
        pid: child.pid ?? 0,
        async hear(step) {
          const report = await messages.next();
          if (report.step === step) return report;
          throw new Error(`Process ${part.who} reported ${report.step} where ${step} was due.`);
        },
        tell: () => child.send({}),
      };
    },

    dismiss() {
      isDismissed = true;
      for (const child of children) {
        if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      }
    },
  };
}

/** A child's messages in order; asking fails when the child ends first. */
function inbox<Message>(child: ChildProcess, name: string): { next(): Promise<Message> } {
  const arrived: Message[] = [];
  let ended: CliError | undefined;
  let wake = (): void => {};
  child.on("message", (message) => {
    arrived.push(message as Message);
    wake();
  });
  child.on("exit", (code, signal) => {
    ended = new CliError(
      EXIT.failed,
      `${name} ended before its part was over (${signal ?? `exit code ${code}`}).`,
    );
    wake();
  });
  return {
    async next() {
      for (;;) {
        const message = arrived.shift();
        if (message !== undefined) return message;
        if (ended !== undefined) throw ended;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
