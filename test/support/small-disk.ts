/** A file system of a test's own, in memory, which is full when the test wants it to be. */

import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, statfsSync } from "node:fs";
import { promisify } from "node:util";
import { lastWill } from "./last-will.js";

const run = promisify(execFile);
const ROOMY = "size=1g";

export interface SmallDisk {
  /** Nothing more can be written, and nothing has been lost. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  close(): void;
}

/** Mounted at `folder`, which is made. Undefined where this machine does not let us. */
export async function smallDisk(folder: string): Promise<SmallDisk | undefined> {
  mkdirSync(folder, { recursive: true });
  const revoke = await lastWill({ run: ["umount", "-l", folder] });
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", ROOMY, "leasehold", folder], {
    stdio: "ignore",
  });
  if (status !== 0) {
    revoke();
    return undefined;
  }
  const resize = async (size: string): Promise<void> => {
    await run("mount", ["-o", `remount,${size}`, folder]);
  };
  return {
    fill: async () => {
      const { blocks, bfree, bsize } = statfsSync(folder);
      // What is written meanwhile does not fit any more: then the next size does.
      const fits = (pages: number): Promise<void> =>
        resize(`size=${(blocks - bfree + pages) * bsize}`).catch((error) =>
          pages > 1_000 ? Promise.reject(error) : fits(pages * 4),
        );
      await fits(1);
    },
    empty: () => resize(ROOMY),
    close: () => {
      spawnSync("umount", ["-l", folder], { stdio: "ignore" });
      revoke();
    },
  };
}
