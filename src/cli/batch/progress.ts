/** The progress bar of a batch, on a terminal only, and on stderr: stdout is for the summary. */

import { onTerminal } from "../output.ts";

export interface Progress {
  update(done: number, total: number, failed: number): void;
  stop(): void;
}

const NONE: Progress = { update() {}, stop() {} };

export async function startProgress(): Promise<Progress> {
  if (!onTerminal("stderr")) return NONE;
  const { default: cliProgress } = await import("cli-progress");
  const bar = new cliProgress.SingleBar(
    {
      format: "{bar} {percentage}%  {value}/{total} jobs, {failed} failed, {duration_formatted}",
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
