import type { Lease } from "../../src/client/handler.ts";
import { defaultMarginMs } from "../../src/protocol/trust.ts";
import { Ledger, type LedgerRequest } from "./ledger.ts";
import type { Mutant } from "./mutants.ts";
import type { SimProcess } from "./sim-process.ts";
import { Wire } from "./wire.ts";
import type { SimWorld } from "./world.ts";

/** How handlers of one process reach the destination, and what is judged of it on this side (I10). */
export class Effects {
  readonly #world: SimWorld;
  readonly #process: SimProcess;
  readonly #mutant: Mutant;
  readonly #wire: Wire;
  readonly #timeoutMs: number;
  /** By job and generation, when the last claim or renewal that was answered with yes had been asked for. */
  readonly #sent = new Map<string, { readonly sentMs: number; readonly leaseMs: number }>();
  hangs = 0;

  constructor(world: SimWorld, process: SimProcess, mutant: Mutant, timeoutMs: number) {
    this.#world = world;
    this.#process = process;
    this.#mutant = mutant;
    this.#timeoutMs = timeoutMs;
    this.#wire = new Wire(process, world.time, world.chance.branch(), world.faults, world.wires);
  }

  granted(owner: string, sentMs: number, leaseMs: number): void {
    const known = this.#sent.get(owner);
    if (known === undefined || known.sentMs < sentMs) this.#sent.set(owner, { sentMs, leaseMs });
  }

  async write(lease: Lease, step: string): Promise<string> {
    const request = this.#request(lease, step);
    this.#process.world.reached("after-deadline-check");
    if (!this.#process.isFrozen && !this.#process.isDead) this.#judge(lease);
    this.#process.world.reached("before-effect-send");
    const answer = await this.#wire.call("write", [], this.#timeoutMs, () =>
      this.#world.ledger.write(request),
    );
    this.#process.world.reached("after-effect-reply");
    return answer;
  }

  #request(lease: Lease, step: string): LedgerRequest {
    if (this.#mutant.trustIgnored) {
      const key = `${lease.effectScope}/${step}`;
      return { token: lease.token, key, effect: key };
    }
    const request = Ledger.request(lease, step);
    return this.#mutant.keyWithoutJob ? { ...request, key: step } : request;
  }

  /** I10: by its own clock it may trust the lease still. */
  #judge(lease: Lease): void {
    const { line, generation, owner } = lease.token;
    const sent = this.#sent.get(`${lease.effectScope?.split("/")[0] ?? line} ${owner}`);
    const nowMs = this.#process.monotonicMs();
    if (sent === undefined) return;
    if (nowMs >= sent.sentMs + sent.leaseMs - defaultMarginMs(sent.leaseMs)) {
      this.#world.broken.push(
        `I10: an effect of ${line} ${generation} was sent ${nowMs - sent.sentMs} ms after`,
      );
    }
  }

  pause(ms: number): Promise<void> {
    return this.#process.world.timers.sleep(ms);
  }

  hang(): Promise<never> {
    this.hangs++;
    return new Promise(() => {});
  }
}
