import { readFile, rm } from "node:fs/promises";
import type { World } from "../../clock/world.ts";
import { admit, type Mark } from "../../protocol/destination-rule.ts";
import { generation, type JobId, jobId, type Line } from "../../protocol/identity.ts";
import { checkLease } from "../check-lease.ts";
import type { Destination, EffectLease, ProbeResult } from "../destination.ts";
import { isPruned } from "../pruned.ts";
import { PrunedLineError, StaleTokenError } from "../refusals.ts";
import { Chain } from "./chain.ts";
import { unlessCode } from "./folder.ts";
import type { State } from "./state.ts";

/** What the file is to hold; or how that follows from what it holds, undefined where there is no file. */
export type FileContent = string | Uint8Array | ((current: Buffer | undefined) => string | Uint8Array);

export class FileDestination implements Destination {
  readonly level = "fenced";
  readonly #path: string;
  readonly #world: World;
  readonly #chain: Chain;
  /** Writes of one process take turns: otherwise they would only make each other begin again. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, world: World) {
    this.#path = path;
    this.#world = world;
    this.#chain = new Chain(path, world);
  }

  /**
   * Replaces the file's content as a whole: readers see the old or the new one. When it resolves, content and mark
   * survive a power cut. A function may be called again when another process was quicker, so it only computes.
   *
   * @throws {StaleTokenError} a later owner has been here: nothing was written by this call (D5)
   * @throws {PrunedLineError}
   * @throws {LeaseNotTrustedError} before anything is touched
   */
  write(lease: EffectLease, content: FileContent): Promise<void> {
    return this.#guarded(lease, async () =>
      typeof content === "function" ? content(await unlessCode(["ENOENT"], readFile(this.#path))) : content,
    );
  }

  /** @throws {StaleTokenError} a later owner has been here */
  advance(lease: EffectLease): Promise<void> {
    return this.#guarded(lease, async () => undefined);
  }

  async markOf(line: Line): Promise<Mark | undefined> {
    return (await this.#chain.head()).state.marks.get(line);
  }

  /** On a file of its own in the same folder, whose file system is what is to be proven. */
  async probe(): Promise<ProbeResult> {
    const path = `${this.#path}.probe-${this.#world.ids.jobId()}`;
    const beside = new FileDestination(path, this.#world);
    const line = "probe" as Line;
    const lease = (number: number): EffectLease => ({
      token: { line, generation: generation(number), owner: this.#world.ids.owner() },
      effectScope: null,
    });
    try {
      await beside.advance(lease(2));
      await beside.write(lease(1), "stale");
      return { isProven: false, why: "a write with a token below the mark was admitted" };
    } catch (error) {
      if (error instanceof StaleTokenError) return { isProven: true };
      return { isProven: false, why: error instanceof Error ? error.message : String(error) };
    } finally {
      for (const made of [path, `${path}.fence`]) await rm(made, { recursive: true, force: true });
    }
  }

  /**
   * Drops the marks of jobs below `below` (D7), which is not above the oldest unfinished one. From then on all their
   * tokens are refused.
   */
  prune(below: JobId): Promise<void> {
    const id = jobId(below);
    return this.#inTurn((state) => {
      if (id <= state.prunedBelow) return state;
      const next: State = { marks: state.marks, prunedBelow: id };
      return { ...next, marks: new Map([...state.marks].filter(([line]) => !isPruned(line, id))) };
    });
  }

  #guarded(lease: EffectLease, content: () => Promise<string | Uint8Array | undefined>): Promise<void> {
    return this.#inTurn((state) => {
      const token = checkLease(lease);
      const mark = state.marks.get(token.line);
      if (mark === undefined && isPruned(token.line, state.prunedBelow))
        throw new PrunedLineError(token.line);
      const admission = admit(mark, token);
      if (!admission.admitted) throw new StaleTokenError(token, mark as Mark);
      const raised = { generation: token.generation, owner: token.owner };
      return { ...state, marks: new Map(state.marks).set(token.line, raised) };
    }, content);
  }

  #inTurn(
    decide: (state: State) => State,
    content: () => Promise<string | Uint8Array | undefined> = async () => undefined,
  ): Promise<void> {
    const turn = this.#last.then(async () => {
      for (;;) {
        const head = await this.#chain.head();
        const state = decide(head.state);
        if (await this.#chain.append(head, state, await content())) return;
      }
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}
