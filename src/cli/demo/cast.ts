/** Starting the demo's processes, and hearing from them. */

import { fileURLToPath } from "node:url";
import { startService } from "../accounts/service.ts";
import { Children } from "../children.ts";
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

const PLAYER = fileURLToPath(new URL("./player-process.js", import.meta.url));

export function gather(): Cast {
  const children = new Children();
  return {
    startService: (databasePath) => startService(children, databasePath),

    startPlayer(part) {
      const child = children.start<Report>(PLAYER, JSON.stringify(part), `Process ${part.who}`);
      return {
        who: part.who,
        pid: child.pid,
        async hear(step) {
          const report = await child.next();
          if (report.step === step) return report;
          throw new Error(`Process ${part.who} reported ${report.step} where ${step} was due.`);
        },
        tell: () => child.tell({}),
      };
    },

    dismiss: () => children.dismiss(),
  };
}
