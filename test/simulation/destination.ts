import type { EffectLease } from "../../src/destinations/destination.ts";
import { httpGuard } from "../../src/destinations/http/index.ts";
import { StaleTokenError } from "../../src/destinations/refusals.ts";
import type { FencingToken } from "../../src/protocol/identity.ts";
import { memoryGuard } from "../support/memory-guard.ts";
import { Ledger, type LedgerRequest } from "./ledger.ts";
import type { Kit } from "./workload.ts";

/** The service at which effects land: a ledger, or a kit's guard, by itself or behind the HTTP one, that a ledger watches. */
export class Destination {
  readonly #kit: Kit;
  readonly #ledger: Ledger;
  readonly #guard = memoryGuard();
  /** While it is cut off, what is sent to it gets lost. */
  isCutOff = false;

  constructor(kit: Kit, ledger: Ledger) {
    this.#kit = kit;
    this.#ledger = ledger;
  }

  write(request: LedgerRequest, effectScope: string | null, step: string): Promise<string> {
    if (this.isCutOff) return new Promise(() => {});
    if (this.#kit === "ledger") return this.#ledger.write(request);
    const lease = { token: request.token, effectScope };
    return this.#guarded(lease, step, (body) => this.#guard.write(lease, { step }, body));
  }

  /** The same by HTTP: the token and the key are read from the request by the kit itself. */
  async handle(request: Request): Promise<Response> {
    if (this.isCutOff) return new Promise(() => {});
    const guard = {
      ...this.#guard,
      write: <Answer>(
        lease: EffectLease,
        effect: { readonly step?: string },
        body: (tx: never) => Promise<Answer> | Answer,
      ): Promise<Answer> =>
        this.#guarded(lease, effect.step ?? "", (make) =>
          this.#guard.write(lease, effect, async () => {
            make();
            return body(undefined as never);
          }),
        ),
    };
    return httpGuard({ guard })(request, (asked) => new Response(`made for ${asked.url}`));
  }

  /** What the guard decides is written down in the order in which it decides. */
  async #guarded<Answer>(
    lease: EffectLease,
    step: string,
    write: (body: () => string) => Promise<Answer>,
  ): Promise<Answer> {
    const { token, effect, key } = Ledger.request(lease, step);
    this.#ledger.writeBlind(token, key);
    let isFresh = false;
    const note = (outcome: "applied" | "duplicate" | "stale", answer: string): void => {
      this.#ledger.log.push({ token, key, effect, admitted: outcome !== "stale", outcome, answer });
    };
    try {
      const answer = await write(() => {
        isFresh = true;
        return this.#answer(effect, token);
      });
      note(isFresh ? "applied" : "duplicate", `${effect}: ${JSON.stringify(answer)}`);
      return answer;
    } catch (error) {
      if (error instanceof StaleTokenError) note("stale", "");
      throw error;
    }
  }

  #answer(effect: string, { generation }: FencingToken): string {
    return `${effect} by ${generation}`;
  }
}
