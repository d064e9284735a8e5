import { resolve } from "node:path";
import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import { InvalidArgumentError } from "../../errors.ts";
import { FileDestination } from "./file-destination.ts";

export type { DestinationLevel, EffectLease, ProbeResult } from "../destination.ts";
export { PrunedLineError, StaleTokenError } from "../refusals.ts";
export type { FileContent, FileDestination } from "./file-destination.ts";

export interface FileOptions {
  /** Randomness for names; tests bring their own. */
  readonly world?: World;
}

/**
 * A file whose content is replaced as a whole, by the current owner alone: level `fenced`. It stays an ordinary file for
 * whoever reads it; the marks are in a folder beside it, `<path>.fence`, which belongs to the kit. Several processes of
 * one machine may write; one that is killed or stopped in the middle holds nobody up.
 *
 * Not promised: order among an owner's own writes that are under way at once; anything about those who write to the
 * path without the kit, or on network file systems; repeats are not answered, but written again.
 *
 * @param path in a folder that exists
 */
export function file(path: string, options: FileOptions = {}): FileDestination {
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    throw new InvalidArgumentError("path", path, "the path of a file");
  return new FileDestination(resolve(path), options.world ?? systemWorld());
}
