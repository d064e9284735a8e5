import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import type { Guard, ProbeResult } from "../../src/destinations/destination.ts";
import { type EffectKey, effectKey } from "../../src/destinations/effect.ts";
import {
  EffectMismatchError,
  EffectRunningError,
  PrunedLineError,
  StaleTokenError,
} from "../../src/destinations/refusals.ts";
import { type Admission, admit, type Mark } from "../../src/protocol/destination-rule.ts";
import { type FencingToken, generation, type Line, owner } from "../../src/protocol/identity.ts";
import type {
  DestinationHarness,
  DestinationWorld,
  EffectAnswer,
  EffectRequest,
  EffectWriter,
} from "../../src/testing/index.ts";

/** What the destination keeps, in the place where a real one has its disk. */
export interface Kept {
  readonly marks: Map<Line, Mark>;
  readonly effects: Map<Line, string[]>;
  readonly answers: Map<string, { readonly request: string | null; readonly answer: string }>;
  prunedBelow: string;
}

/** Runs in the middle of an effect, after it was written. */
export type Inside = () => Promise<void> | void;

/**
 * The contract over a few maps: the destination that the suite is tested with. Its steps are methods of their own, so that a
 * broken one replaces the step that it gets wrong (`broken-destinations.ts`).
 */
export class MemoryDestination implements Pick<Guard<Kept>, "level" | "markOf" | "probe"> {
  readonly level = "fenced + deduplicated";
  #kept: Kept = { marks: new Map(), effects: new Map(), answers: new Map(), prunedBelow: "" };
  #last: Promise<unknown> = Promise.resolve();

  write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside): Promise<EffectAnswer> {
    const key = this.key(token, options);
    return this.atomically(async (kept) => {
      this.raise(kept, token);
      const answer = this.stored(kept, key) ?? (await this.make(kept, token.line, effect, inside));
      if (key !== undefined) kept.answers.set(key.key, { request: key.request, answer });
      return { answer };
    });
  }

  advance(token: FencingToken): Promise<void> {
    return this.atomically(async (kept) => this.raise(kept, token));
  }

  async writeWithoutToken(_line: Line, _effect: string): Promise<unknown> {
    throw new TypeError("no token was shown");
  }

  async prune(below: string): Promise<void> {
    await this.atomically(async (kept) => {
      if (below > kept.prunedBelow) kept.prunedBelow = below;
      for (const line of kept.marks.keys()) if (this.isPruned(kept, line)) kept.marks.delete(line);
    });
  }

  async markOf(line: Line): Promise<Mark | undefined> {
    return this.#kept.marks.get(line);
  }

  async effects(line: Line): Promise<string[]> {
    return [...(this.#kept.effects.get(line) ?? [])];
  }

  async probe(): Promise<ProbeResult> {
    const line = `probe:${randomUUID()}` as Line;
    const token = (number: number): FencingToken => ({
      line,
      generation: generation(number),
      owner: owner("probe"),
    });
    await this.advance(token(2));
    try {
      await this.write(token(1), {}, "stale");
      return { isProven: false, why: "a stale write was admitted" };
    } catch {
      return { isProven: true };
    }
  }

  /** Nothing is lost: this one's disk is its memory. */
  restart(): void {}

  protected admission(mark: Mark | undefined, token: FencingToken): Admission {
    return admit(mark, token);
  }

  protected key(token: FencingToken, options: EffectRequest): EffectKey | undefined {
    return effectKey({ token, effectScope: options.scope ?? null }, options);
  }

  protected raise(kept: Kept, token: FencingToken): void {
    const mark = kept.marks.get(token.line);
    if (mark === undefined && this.isPruned(kept, token.line)) throw new PrunedLineError(token.line);
    const admission = this.admission(mark, token);
    if (!admission.admitted) throw new StaleTokenError(token, mark as Mark);
    if (admission.raises) kept.marks.set(token.line, { generation: token.generation, owner: token.owner });
  }

  protected isPruned({ prunedBelow }: Kept, line: Line): boolean {
    return line.startsWith("job:") && line.slice("job:".length) < prunedBelow;
  }

  protected stored(kept: Kept, key: EffectKey | undefined): string | undefined {
    const record = key && kept.answers.get(key.key);
    if (record === undefined) return undefined;
    if (record.request !== key?.request) throw new EffectMismatchError(key?.key ?? "");
    return record.answer;
  }

  protected async make(kept: Kept, line: Line, effect: string, inside?: Inside): Promise<string> {
    kept.effects.set(line, [...(kept.effects.get(line) ?? []), effect]);
    await inside?.();
    return JSON.stringify({ made: effect });
  }

  /** One after the other, all or nothing; each takes some turns of the event loop, as a real one does. */
  protected atomically<Answer>(step: (kept: Kept) => Promise<Answer>): Promise<Answer> {
    const running = this.#last.then(async () => {
      const kept: Kept = {
        ...this.#kept,
        marks: new Map(this.#kept.marks),
        effects: new Map(this.#kept.effects),
        answers: new Map(this.#kept.answers),
      };
      await turn();
      const answer = await step(kept);
      await turn();
      this.#kept = kept;
      return answer;
    });
    this.#last = running.catch(() => {});
    return running;
  }
}

/** As sound, but it lets nobody wait for an effect that is under way. */
export class ImpatientDestination extends MemoryDestination {
  readonly #running = new Set<string>();

  override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
    const key = this.key(token, options)?.key ?? randomUUID();
    if (this.#running.has(key)) throw new EffectRunningError(key, 1);
    this.#running.add(key);
    return super.write(token, options, effect, inside).finally(() => this.#running.delete(key));
  }
}

export function memoryDestinationHarness(
  make: () => MemoryDestination = () => new MemoryDestination(),
): DestinationHarness {
  return {
    level: "fenced + deduplicated",
    open: async () => worldOf(make()),
    gaps: [],
  };
}

function worldOf(destination: MemoryDestination): DestinationWorld {
  const writer: EffectWriter = {
    level: destination.level,
    write: async (token, options, effect) => destination.write(token, options, effect),
    advance: (token) => destination.advance(token),
    markOf: (line) => destination.markOf(line),
    probe: () => destination.probe(),
  };
  return {
    writer,
    another: async () => ({ ...writer }),
    effects: (line) => destination.effects(line),
    writeWithoutToken: (line, effect) => destination.writeWithoutToken(line, effect),
    failInside: (token, options, effect) =>
      destination.write(token, options, effect, () => {
        throw new Error("failed inside");
      }),
    hold: (token, options, effect) =>
      new Promise((entered, failed) => {
        let goOn = (): void => {};
        const going = new Promise<void>((resolve) => {
          goOn = resolve;
        });
        const write = destination.write(token, options, effect, () => {
          entered({
            finish: () => {
              goOn();
              return write;
            },
          });
          return going;
        });
        write.catch(failed);
      }),
    restart: async () => {
      destination.restart();
      return writer;
    },
    prune: (below) => destination.prune(below),
    close: async () => {},
  };
}
