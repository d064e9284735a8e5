import type { EffectLease } from "../../src/destinations/destination.ts";
import { effectKey } from "../../src/destinations/effect.ts";
import { StaleTokenError } from "../../src/destinations/refusals.ts";
import { admit, type Mark } from "../../src/protocol/destination-rule.ts";
import type { FencingToken, Line } from "../../src/protocol/identity.ts";
import type { Decision } from "../../src/protocol/invariants.ts";

/** What a destination did with one request, in its own order. */
export interface LedgerEntry extends Decision {
  readonly key: string;
  /** Whose effect was asked for: what the key has to stand for. */
  readonly effect: string;
  readonly outcome: "applied" | "duplicate" | "stale";
  readonly answer: string;
}

/** An effect as a kit sends it. */
export interface LedgerRequest {
  readonly token: FencingToken;
  readonly key: string;
  readonly effect: string;
}

/** How a broken destination differs from one that keeps the contract. */
export interface LedgerMutant {
  /** No fence at all. */
  readonly blind?: boolean;
  /** A replay does not raise the mark. */
  readonly quietReplay?: boolean;
  /** An equal generation of another owner is admitted. */
  readonly ownerIgnored?: boolean;
  /** The record of an effect is lost. */
  readonly forgetful?: boolean;
  /** The fence is asked in one transaction, and the effect made in another one. */
  readonly inTwo?: boolean;
  /** The effect is made in one transaction, and its key written in another one. */
  readonly keyLate?: boolean;
}

/**
 * A fenced and deduplicating destination: each request is decided in one step, on arrival. Its log is what is judged, also
 * of the kits, whose decisions are written down here. Beside it a blind one gets the same requests, to show what a fence is for.
 */
export class Ledger {
  readonly log: LedgerEntry[] = [];
  readonly #marks = new Map<Line, Mark>();
  readonly #answers = new Map<string, string>();
  readonly #blind = new Map<string, number>();
  readonly #mutant: LedgerMutant;
  /** Between two transactions of a broken one. */
  readonly #meanwhile: () => Promise<void>;
  #blindMark = new Map<Line, number>();
  blindDuplicates = 0;
  blindOutOfOrder = 0;

  constructor(mutant: LedgerMutant, meanwhile: () => Promise<void>) {
    this.#mutant = mutant;
    this.#meanwhile = meanwhile;
  }

  static request(lease: EffectLease, step: string): LedgerRequest {
    const key = effectKey(lease, { step })?.key ?? "";
    return { token: lease.token, key, effect: key };
  }

  async write({ token, key, effect }: LedgerRequest): Promise<string> {
    this.writeBlind(token, key);
    const { line, generation, owner } = token;
    const mark = this.#marks.get(line);
    if (!this.#admits(mark, token)) {
      this.log.push({ token, key, effect, admitted: false, outcome: "stale", answer: "" });
      throw new StaleTokenError(token, mark as Mark);
    }
    if (this.#mutant.inTwo) await this.#meanwhile();
    const answer = this.#answers.get(key);
    const isReplay = answer !== undefined && !this.#mutant.forgetful;
    if (!(isReplay && this.#mutant.quietReplay)) this.#marks.set(line, { generation, owner });
    const given = isReplay ? answer : `${effect} by ${generation}`;
    const outcome = isReplay ? "duplicate" : "applied";
    this.log.push({ token, key, effect, admitted: true, outcome, answer: given });
    if (this.#mutant.keyLate) await this.#meanwhile();
    this.#answers.set(key, given);
    return given;
  }

  #admits(mark: Mark | undefined, token: FencingToken): boolean {
    if (this.#mutant.blind) return true;
    if (this.#mutant.ownerIgnored && mark?.generation === token.generation) return true;
    return admit(mark, token).admitted;
  }

  writeBlind({ line, generation }: FencingToken, key: string): void {
    const times = (this.#blind.get(key) ?? 0) + 1;
    this.#blind.set(key, times);
    if (times > 1) this.blindDuplicates++;
    if (generation < (this.#blindMark.get(line) ?? 0)) this.blindOutOfOrder++;
    this.#blindMark.set(line, generation);
  }
}
