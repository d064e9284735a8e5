import { existsSync } from "node:fs";
import { systemWorld } from "../../clock/system.ts";
import type { FaultPoint, World } from "../../clock/world.ts";
import type { Part } from "./messages.ts";

/** A signal to oneself is delivered within this time, ms; nothing else happens meanwhile. */
const DELIVERED_MS = 20;

/** The system's world, in which one fault strikes at the point where it is aimed. */
export function aimedWorld(part: Part, leaseMs: number, hasClaimed: () => boolean): World {
  const world = systemWorld();
  let hasStruck = false;
  const strike = (act: () => void): void => {
    if (hasStruck) return;
    hasStruck = true;
    act();
  };
  const spin = (ms: number, isOver: () => boolean = () => false): void => {
    const beganMs = world.clock.monotonicMs();
    while (world.clock.monotonicMs() - beganMs < ms && !isOver());
  };
  // Nobody could tell a blocked process that the drill is gone.
  const parent = process.ppid;
  const isOrphan = (): boolean => process.ppid !== parent;
  const signal = (name: "SIGSTOP" | "SIGKILL"): void => {
    process.kill(process.pid, name);
    spin(DELIVERED_MS);
  };
  const strikes: Partial<Record<Part["fault"], readonly [FaultPoint, () => void]>> = {
    pause: ["after-deadline-check", () => signal("SIGSTOP")],
    block: ["after-deadline-check", () => spin(20 * leaseMs, () => existsSync(part.goFile) || isOrphan())],
    "kill-at-claim": ["after-claim-reply", () => signal("SIGKILL")],
    "kill-before-complete": ["before-complete-send", () => signal("SIGKILL")],
  };
  const aimed = strikes[part.fault];
  return {
    ...world,
    reached(point) {
      if (point === aimed?.[0] && hasClaimed()) strike(aimed[1]);
    },
  };
}
