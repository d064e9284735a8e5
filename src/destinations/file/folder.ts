/** What the kit asks of the file system beyond `node:fs`: durable folders, exact writes, and "is it still there?". */

import { open, readFile } from "node:fs/promises";

/** Resolves when the names in the folder, as they are now, survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A new file, whole and durable before anybody is told its name; its name needs `syncFolder`. */
export async function writeNew(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const file = await open(path, "wx");
  try {
    if (mode !== undefined) await file.chmod(mode);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function readText(path: string): Promise<string | undefined> {
  return unlessCode(["ENOENT"], readFile(path, "utf8"));
}

/** What `action` resolves to; undefined when it failed with one of these codes, which mean that another was quicker. */
export async function unlessCode<Value>(
  codes: readonly string[],
  action: Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await action;
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
