// What the keepers of throw-away servers share.

import { readFileSync } from "node:fs";
import { createServer } from "node:net";

/**
 * Whom a server runs as, since servers refuse to run as root: then a user without rights that every Unix has.
 *
 * @returns {{ uid?: number, gid?: number }}
 */
export function unprivileged() {
  if (process.geteuid?.() !== 0) return {};
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("nobody:"));
  const [, , uid, gid] = (line ?? "nobody:x:65534:65534").split(":").map(Number);
  return { uid: uid ?? 65534, gid: gid ?? 65534 };
}

/**
 * @param {number} [wanted] 0: any
 * @returns {Promise<number | undefined>} a port that was free a moment ago; undefined when the wanted one is not
 */
export function freePort(wanted = 0) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.on("error", () => resolve(undefined));
    probe.listen(wanted, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : undefined));
    });
  });
}

/**
 * @param {number} pid
 * @returns {boolean}
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
