/** A progress bar, on a terminal only, and on stderr: stdout is for what the command has to say. */

import { onTerminal } from "./output.ts";

export interface Progress {
  /** @param failed what is counted beside the bar, in the words that it was started with */
  update(done: number, total: number, failed: number): void;
  stop(): void;
}

const NONE: Progress = { update() {}, stop() {} };

/** @param words what is counted, and what of it is told beside it: `jobs` and `failed` */
export async function startProgress(words: {
  readonly of: string;
  readonly failed: string;
}): Promise<Progress> {
  if (!onTerminal("stderr")) return NONE;
  const { default: cliProgress } = await import("cli-progress");
  const bar = new cliProgress.SingleBar(
    {
      format: `{bar} {percentage}%  {value}/{total} ${words.of}, {failed} ${words.failed}, {duration_formatted}`,
      stream: process.stderr,
      hideCursor: true,
    },
    cliProgress.Presets.shades_classic,
  );
  return {
    update(done, total, failed) {
      if (!bar.isActive) bar.start(total, 0, { failed: 0 });
      bar.update(done, { failed });
    },
    stop: () => bar.stop(),
  };
}
