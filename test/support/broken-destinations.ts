import type { EffectKey } from "../../src/destinations/effect.ts";
import { type Admission, admit, type Mark } from "../../src/protocol/destination-rule.ts";
import { type FencingToken, generation, type Line } from "../../src/protocol/identity.ts";
import type { EffectAnswer, EffectRequest } from "../../src/testing/index.ts";
import { type Inside, type Kept, MemoryDestination } from "./memory-destination.ts";

/** Destinations with one rule left out each: the suite must catch every one by name, or it is too weak. */
export const BROKEN_DESTINATIONS: Readonly<Record<string, new () => MemoryDestination>> = {
  "check comes before the transaction": class extends MemoryDestination {
    override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
      await this.atomically(async (kept) => this.raise({ ...kept, marks: new Map(kept.marks) }, token));
      const key = this.key(token, options);
      return this.atomically(async (kept) => {
        kept.marks.set(token.line, token);
        const answer = this.stored(kept, key) ?? (await this.make(kept, token.line, effect, inside));
        if (key !== undefined) kept.answers.set(key.key, { request: key.request, answer });
        return { answer };
      });
    }
  },

  "mark is raised in a transaction of its own": class extends MemoryDestination {
    override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
      await this.atomically(async (kept) => this.raise(kept, token));
      return super.write(token, options, effect, inside);
    }
  },

  "advance does not raise": class extends MemoryDestination {
    override advance(token: FencingToken): Promise<void> {
      return this.atomically(async (kept) => this.raise({ ...kept, marks: new Map(kept.marks) }, token));
    }
  },

  "answer is recorded before the effect": class extends MemoryDestination {
    override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
      const key = this.key(token, options);
      if (key !== undefined) {
        const answer = JSON.stringify({ made: effect });
        const stored = await this.atomically(async (kept) => {
          this.raise(kept, token);
          const stored = this.stored(kept, key);
          if (stored === undefined) kept.answers.set(key.key, { request: key.request, answer });
          return stored;
        });
        if (stored !== undefined) return { answer: stored };
      }
      return super.write(token, {}, effect, inside);
    }
  },

  "answer is recorded after the effect": class extends MemoryDestination {
    override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
      const key = this.key(token, options);
      const found = await this.atomically(async (kept) => {
        this.raise(kept, token);
        return this.stored(kept, key);
      });
      if (found !== undefined) return { answer: found };
      const { answer } = await super.write(token, {}, effect, inside);
      if (key !== undefined)
        await this.atomically(async (kept) => {
          kept.answers.set(key.key, { request: key.request, answer });
        });
      return { answer };
    }
  },

  "owner is ignored": class extends MemoryDestination {
    protected override admission(mark: Mark | undefined, token: FencingToken): Admission {
      return admit(mark, { ...token, owner: mark?.owner ?? token.owner });
    }
  },

  "generations are compared as text": class extends MemoryDestination {
    protected override admission(mark: Mark | undefined, token: FencingToken): Admission {
      const isHigher = mark === undefined || `${token.generation}` > `${mark.generation}`;
      return isHigher ? { admitted: true, raises: true } : admit(mark, token);
    }
  },

  "generations are kept in 32 bits": class extends MemoryDestination {
    protected override admission(mark: Mark | undefined, token: FencingToken): Admission {
      const cut = (number: number) => generation(number >>> 0);
      return admit(mark && { ...mark, generation: cut(mark.generation) }, {
        ...token,
        generation: cut(token.generation),
      });
    }
  },

  "marks are lost on restart": class extends MemoryDestination {
    #isFresh = false;

    override restart(): void {
      this.#isFresh = true;
    }

    protected override raise(kept: Kept, token: FencingToken): void {
      if (this.#isFresh) kept.marks.clear();
      this.#isFresh = false;
      super.raise(kept, token);
    }
  },

  "missing token counts as admitted": class extends MemoryDestination {
    override writeWithoutToken(line: Line, effect: string): Promise<unknown> {
      return this.atomically((kept) => this.make(kept, line, effect));
    }
  },

  "lower token is answered from the record": class extends MemoryDestination {
    override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
      const key = this.key(token, options);
      const answer = await this.atomically(async (kept) => {
        const answer = this.stored(kept, key);
        if (answer !== undefined && admit(kept.marks.get(token.line), token).admitted)
          this.raise(kept, token);
        return answer;
      });
      return answer === undefined ? super.write(token, options, effect, inside) : { answer };
    }
  },

  "replay does not raise": class extends MemoryDestination {
    override async write(token: FencingToken, options: EffectRequest, effect: string, inside?: Inside) {
      const key = this.key(token, options);
      const answer = await this.atomically(async (kept) => {
        this.raise({ ...kept, marks: new Map(kept.marks) }, token);
        return this.stored(kept, key);
      });
      return answer === undefined ? super.write(token, options, effect, inside) : { answer };
    }
  },

  "request is ignored": class extends MemoryDestination {
    protected override key(token: FencingToken, options: EffectRequest): EffectKey | undefined {
      const key = super.key(token, options);
      return key && { ...key, request: null };
    }
  },

  "key has the generation in it": class extends MemoryDestination {
    protected override key(token: FencingToken, options: EffectRequest): EffectKey | undefined {
      const key = super.key(token, options);
      return key && { ...key, key: `${key.key}/${token.generation}` };
    }
  },

  "key is the step alone": class extends MemoryDestination {
    protected override key(token: FencingToken, options: EffectRequest): EffectKey | undefined {
      const key = super.key(token, options);
      return key && { ...key, key: options.step ?? "" };
    }
  },

  "answer is parsed and printed again": class extends MemoryDestination {
    protected override stored(kept: Kept, key: EffectKey | undefined): string | undefined {
      return super.stored(kept, key)?.normalize("NFC");
    }
  },

  "pruned lines are forgotten": class extends MemoryDestination {
    protected override raise(kept: Kept, token: FencingToken): void {
      super.raise({ ...kept, prunedBelow: "" }, token);
    }
  },

  "pruning takes named leases along": class extends MemoryDestination {
    protected override isPruned(kept: Kept, line: Line): boolean {
      return super.isPruned(kept, line) || (kept.prunedBelow !== "" && line.startsWith("lease:"));
    }
  },

  "names are folded to lower case": class extends MemoryDestination {
    override write(
      token: FencingToken,
      options: EffectRequest,
      effect: string,
      inside?: Inside,
    ): Promise<EffectAnswer> {
      return super.write({ ...token, line: token.line.toLowerCase() as Line }, options, effect, inside);
    }
  },
};
