/**
 * An isolated process leads a process group, so that what its handler has started ends with it. Windows has no groups: there
 * the process alone is ended.
 */

export const HAS_GROUPS: boolean = process.platform !== "win32";

/** Kills the group that `pid` leads; one that is gone is fine. */
export function killGroup(pid: number): void {
  try {
    process.kill(HAS_GROUPS ? -pid : pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** This process, and what it has started. */
export function killOwnGroup(): void {
  killGroup(process.pid);
  // Should it lead no group, because somebody started the file by hand.
  process.kill(process.pid, "SIGKILL");
}
