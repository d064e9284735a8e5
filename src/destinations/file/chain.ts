/**
 * How content and marks change in one atomic step among processes, without a lock that a dead or stopped one could keep.
 *
 * Beside `report.csv` lies the folder `report.csv.fence`, with the file `root` and a folder for each version. A version
 * begins as `<id>/state` (the marks, and who its parent is) and `<id>/content`, written and synced in full. It is *committed* by
 * linking its state as `<parent>/next`: `link` makes a name only where none is, so each version has one successor, and a
 * writer who judged by an older one is turned away however late it comes. What is left is to move the content to its place
 * and the state to `root`. Anybody may do that, and must before committing a successor. A move takes its source away,
 * so it happens once: one who wakes up in the middle of it finds nothing to move, and cannot bring back what was
 * replaced meanwhile.
 */

import { link, mkdir, readdir, rename, rm, rmdir, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { World } from "../../clock/world.ts";
import { readText, syncFolder, unlessCode, writeNew } from "./folder.ts";
import { NOTHING, parseState, type State, textOf, type Version } from "./state.ts";

/** How many folders may lie there before those that no version needs are cleared away. */
const MOST_FOLDERS = 16;
const GONE = ["ENOENT"];

export class Chain {
  readonly #path: string;
  readonly #fence: string;
  readonly #world: World;

  constructor(path: string, world: World) {
    this.#path = path;
    this.#fence = `${path}.fence`;
    this.#world = world;
  }

  /** The newest version, its content in its place. */
  async head(): Promise<Version> {
    for (;;) {
      const root = await this.#read(join(this.#fence, "root"));
      if (root === undefined) {
        await this.#begin();
        continue;
      }
      const next = await this.#read(join(this.#fence, root.id, "next"));
      if (next !== undefined) {
        await this.#settle(next);
        continue;
      }
      // No `next`, or no folder any more: then the root has moved on.
      if ((await this.#read(join(this.#fence, "root")))?.id === root.id) return root;
    }
  }

  /**
   * Makes `state`, and `content` where it is given, the successor of `parent`.
   *
   * @returns false when `parent` is not the newest any more: nothing has changed
   */
  async append(parent: Version, state: State, content?: string | Uint8Array): Promise<boolean> {
    const id = this.#world.ids.jobId();
    const folder = join(this.#fence, id);
    const version: Version = { id, parent: parent.id, state };
    try {
      await mkdir(folder);
      if (content !== undefined) await writeNew(join(folder, "content"), content, await this.#mode());
      await writeNew(join(folder, "state"), textOf(version));
      await link(join(folder, "state"), join(folder, "commit"));
      await syncFolder(folder);
      await syncFolder(this.#fence);
      await link(join(folder, "commit"), join(this.#fence, parent.id, "next"));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      // The parent has a successor; or it was cleared away after that; or this folder was, by a writer with many.
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EEXIST" || (code === "ENOENT" && !(await this.#isDamaged(parent)))) return false;
      throw error;
    }
    // From here on it is committed, whoever goes on with it: the parent's folder goes only after that.
    await unlessCode(GONE, syncFolder(join(this.#fence, parent.id)));
    await this.#settle(version);
    await this.#clear(id);
    return true;
  }

  /** The first version, of which nothing is left to be moved. */
  async #begin(): Promise<void> {
    const id = this.#world.ids.jobId();
    const first = join(this.#fence, `root-${id}`);
    await mkdir(join(this.#fence, id), { recursive: true });
    await writeNew(first, textOf({ id, parent: null, state: NOTHING }));
    await syncFolder(dirname(this.#fence));
    if (
      (await unlessCode(
        ["EEXIST"],
        link(first, join(this.#fence, "root")).then(() => true),
      )) === undefined
    )
      await rmdir(join(this.#fence, id));
    await unlink(first);
    await syncFolder(this.#fence);
  }

  /** The root's folder is there as long as it is the root; without it no successor could ever be linked. */
  async #isDamaged(root: Version): Promise<boolean> {
    const folder = await unlessCode(GONE, stat(join(this.#fence, root.id)));
    return folder === undefined && (await this.#read(join(this.#fence, "root")))?.id === root.id;
  }

  /** That of the file which is replaced. */
  async #mode(): Promise<number | undefined> {
    return (await unlessCode(GONE, stat(this.#path)))?.mode;
  }

  async #settle({ id, parent }: Version): Promise<void> {
    const folder = join(this.#fence, id);
    await unlessCode(GONE, rename(join(folder, "content"), this.#path));
    await syncFolder(dirname(this.#path));
    await unlessCode(GONE, rename(join(folder, "state"), join(this.#fence, "root")));
    await syncFolder(this.#fence);
    if (parent !== null) await this.#discard(parent);
  }

  /** In one step: a writer in the middle of it finds the whole folder or none. */
  async #discard(id: string): Promise<void> {
    const rubbish = join(this.#fence, `gone-${this.#world.ids.jobId()}`);
    await unlessCode(GONE, rename(join(this.#fence, id), rubbish));
    await rm(rubbish, { recursive: true, force: true });
  }

  /**
   * Clears away what killed writers left. A live one whose folder goes begins again. First the source of its commit is
   * taken, so that from then on it cannot become a version; only then does it count whether it had become one.
   */
  async #clear(own: string): Promise<void> {
    const names = (await readdir(this.#fence)).filter((name) => !name.startsWith("root") && name !== own);
    if (names.length < MOST_FOLDERS) return;
    for (const name of names) await unlessCode(GONE, unlink(join(this.#fence, name, "commit")));
    const head = await this.head();
    for (const name of names) if (name !== head?.id) await this.#discard(name);
  }

  async #read(path: string): Promise<Version | undefined> {
    const text = await readText(path);
    return text === undefined ? undefined : parseState(text);
  }
}
