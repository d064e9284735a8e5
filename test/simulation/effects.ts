import type { Lease } from "../../src/client/handler.ts";
import { checkLease } from "../../src/destinations/check-lease.ts";
import { type HttpDestination, httpDestination } from "../../src/destinations/http/index.ts";
import type { FencingToken, JobId } from "../../src/protocol/identity.ts";
import { defaultMarginMs } from "../../src/protocol/trust.ts";
import { Ledger, type LedgerRequest } from "./ledger.ts";
import type { RemoteStore } from "./remote-store.ts";
import type { SimProcess } from "./sim-process.ts";
import { Wire } from "./wire.ts";
import type { SimWorld } from "./world.ts";

/** How handlers of one process reach the destination, and what is judged of it on this side (I10, I11, T2). */
export class Effects {
  readonly #world: SimWorld;
  readonly #process: SimProcess;
  readonly #wire: Wire;
  readonly #http: HttpDestination;
  /** By token, when the last claim or renewal that was answered with yes had been asked for. */
  readonly #sentMs = new Map<string, number>();
  /** The token of each run that this process has heard of. */
  readonly #tokens = new Map<string, string>();
  /** Tokens that the store has refused, as this process has heard. */
  readonly #refused = new Set<string>();
  hangs = 0;
  /** The store as this process reaches it. */
  remote: RemoteStore | undefined;

  constructor(world: SimWorld, process: SimProcess) {
    this.#world = world;
    this.#process = process;
    this.#wire = new Wire(process, world.time, world.chance.branch(), world.faults, world.wires);
    this.#http = httpDestination({
      url: "http://destination",
      world: process.world,
      fetch: (url, init) => this.#fetch(url, init),
    });
  }

  claimed(run: string, token: FencingToken, sentMs: number): void {
    const name = tokenName(token);
    this.#tokens.set(run, name);
    this.#sentMs.set(name, sentMs);
  }

  renewed(run: string, sentMs: number): void {
    const name = this.#tokens.get(run) ?? "";
    this.#sentMs.set(name, Math.max(sentMs, this.#sentMs.get(name) ?? 0));
  }

  refused(run: string): void {
    this.#refused.add(this.#tokens.get(run) ?? "");
  }

  /** T2: no handler begins on a grant that is not to be trusted any more. */
  begins({ token }: Lease): void {
    if (!this.#mayStart(token)) this.#broken(`T2: a run of ${token.line} began on a lease that was over`);
  }

  /** A step that is recorded as done is not made again by the run that is the job's present one. */
  stepBegins(lease: Lease, id: JobId, name: string): void {
    const state = this.remote?.primary.memory.peek();
    const job = state?.jobs.get(id);
    if (state === undefined || job?.state !== "leased" || job.owner !== lease.token.owner) return;
    const isMine = job.resource === null ? job.generation : job.resourceGeneration;
    const done = state.steps.get(id)?.some((one) => {
      return one.step === name && one.run === job.run && one.state === "done";
    });
    if (isMine === lease.token.generation && done === true)
      this.#broken(`job ${id} repeated its step ${name}, which was done`);
  }

  async write(lease: Lease, step: string): Promise<string> {
    const { world } = this.#process;
    if (this.#world.terms.kit === "http") return this.#post(lease, step);
    const request = this.#request(lease, step);
    world.reached("after-deadline-check");
    this.#judge(lease);
    world.reached("before-effect-send");
    const answer = await this.#wire.call("write", this.#world.terms.effectTimeoutMs, () =>
      this.#world.destination.write(request, lease.effectScope, step),
    );
    world.reached("after-effect-reply");
    return answer;
  }

  async #post(lease: Lease, step: string): Promise<string> {
    this.#process.world.reached("after-deadline-check");
    const response = await this.#http.fetch(lease, "/effects", { method: "POST", step, body: "{}" });
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    return response.text();
  }

  /** What `fetch` does: it ends when its signal fires, and what has been sent arrives all the same. */
  #fetch(url: URL, { signal, ...init }: RequestInit): Promise<Response> {
    const sent = this.#wire.call("fetch", this.#world.terms.effectTimeoutMs, () =>
      this.#world.destination.handle(new Request(url, init)),
    );
    if (signal == null) return sent;
    return new Promise((resolve, reject) => {
      const aborted = (): void => reject(signal.reason);
      signal.addEventListener("abort", aborted, { once: true });
      sent.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
    });
  }

  #request(lease: Lease, step: string): LedgerRequest {
    const { mutant } = this.#world;
    if (mutant.trustIgnored === true) {
      const key = `${lease.effectScope}/${step}`;
      return { token: lease.token, key, effect: key };
    }
    const token = checkLease(lease);
    const request = Ledger.request({ token, effectScope: lease.effectScope }, step);
    return mutant.keyWithoutJob === true ? { ...request, key: step } : request;
  }

  /** I10: by its own clock it may trust the lease still; I11: it has not heard that it is not the owner. */
  #judge({ token }: Lease): void {
    if (this.#process.isFrozen || this.#process.isDead) return;
    if (!this.#mayStart(token)) this.#broken(`I10: an effect of ${token.line} was sent too late`);
    if (this.#refused.has(tokenName(token)))
      this.#broken(`I11: an effect of ${token.line} was sent after a refusal`);
  }

  #mayStart(token: FencingToken): boolean {
    const { leaseMs } = this.#world.terms;
    const sentMs = this.#sentMs.get(tokenName(token)) ?? Number.NEGATIVE_INFINITY;
    return this.#process.monotonicMs() < sentMs + leaseMs - defaultMarginMs(leaseMs);
  }

  #broken(what: string): void {
    this.#world.judge.broken.push(what);
  }

  pause(ms: number): Promise<void> {
    return this.#process.world.timers.sleep(ms);
  }

  hang(): Promise<never> {
    this.hangs++;
    return new Promise(() => {});
  }
}

function tokenName({ line, generation, owner }: FencingToken): string {
  return `${line} ${generation} ${owner}`;
}
