import type { EffectLease, EffectOptions, Guard } from "../../src/destinations/destination.ts";
import { effectKey } from "../../src/destinations/effect.ts";
import {
  EffectMismatchError,
  EffectRunningError,
  PrunedLineError,
  StaleTokenError,
} from "../../src/destinations/refusals.ts";
import { admit, type Mark } from "../../src/protocol/destination-rule.ts";

/** The data of a guard in memory: what a body does is seen when it has ended well. */
export class MemoryTx {
  readonly written: string[] = [];

  write(text: string): void {
    this.written.push(text);
  }
}

interface MemoryGuard extends Guard<MemoryTx> {
  /** What was written, in order. */
  readonly written: readonly string[];
  /** The answers' JSON. */
  answers(): string[];
  /** Lines of which a missing mark is refused (D7). */
  readonly pruned: Set<string>;
}

/** A guard without a database, for what stands in front of one. Bodies run side by side and commit one by one. */
export function memoryGuard(): MemoryGuard {
  const marks = new Map<string, Mark>();
  const answers = new Map<string, { readonly request: string | null; readonly answer: string }>();
  const running = new Set<string>();
  const written: string[] = [];
  const pruned = new Set<string>();

  /** Admits the token and tells how to raise the mark. */
  function admitted({ token }: EffectLease): () => void {
    const mark = marks.get(token.line);
    if (mark === undefined && pruned.has(token.line)) throw new PrunedLineError(token.line);
    if (!admit(mark, token).admitted) throw new StaleTokenError(token, mark as Mark);
    return () => void marks.set(token.line, { generation: token.generation, owner: token.owner });
  }

  return {
    level: "fenced + deduplicated",
    written,
    pruned,
    answers: () => [...answers.values()].map(({ answer }) => answer),
    async advance(lease) {
      admitted(lease)();
    },
    markOf: async (line) => marks.get(line),
    probe: async () => ({ isProven: true }),

    async write<Answer>(
      lease: EffectLease,
      effect: EffectOptions,
      body: (tx: MemoryTx) => Promise<Answer> | Answer,
    ): Promise<Answer> {
      const raise = admitted(lease);
      const key = effectKey(lease, effect);
      const first = key && answers.get(key.key);
      if (key !== undefined && first !== undefined) {
        if (first.request !== key.request) throw new EffectMismatchError(key.key);
        raise();
        return JSON.parse(first.answer);
      }
      if (key !== undefined && running.has(key.key)) throw new EffectRunningError(key.key, 1500);
      if (key !== undefined) running.add(key.key);
      try {
        const tx = new MemoryTx();
        const answer = JSON.stringify(await body(tx));
        admitted(lease)(); // a later owner may have been here meanwhile
        written.push(...tx.written);
        if (key !== undefined) answers.set(key.key, { request: key.request, answer });
        return JSON.parse(answer);
      } finally {
        if (key !== undefined) running.delete(key.key);
      }
    },
  };
}
