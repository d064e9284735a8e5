import { systemWorld } from "../../clock/system.ts";
import { type EndOfTrust, LeaseEndedError } from "../../errors.ts";
import type { Instant } from "../../protocol/trust.ts";
import { instant } from "../held-lease.ts";
import type { Run } from "../run.ts";
import { arrived } from "./carried-error.ts";
import { ProcessDiedError, ProcessTerminatedError } from "./errors.ts";
import type { Death, Ending, IsolatedProcess, RunListener } from "./isolated-process.ts";
import type { Deadline } from "./messages.ts";
import type { ProcessPool } from "./process-pool.ts";

/**
 * One run's stay in a process: begins it there, passes on what its worker learns of its lease, and ends the process when the
 * handler does not.
 *
 * A process is used again only after a handler that returned while its lease was held. One that threw, or was told to
 * stop, may have left work going on behind its back: that process is ended, and the run's outcome waits for it.
 */
export class IsolatedRun {
  readonly #run: Run;
  readonly #pool: ProcessPool;
  #child: IsolatedProcess | undefined;
  #begun = false;
  #toldMs = Number.NEGATIVE_INFINITY;
  #terminatedFor: EndOfTrust | undefined;

  constructor(run: Run, pool: ProcessPool) {
    this.#run = run;
    this.#pool = pool;
  }

  /**
   * The JSON text of what the handler returned.
   *
   * @throws what the handler threw
   * @throws {ProcessDiedError | ProcessTerminatedError} it did not come to its end
   */
  async result(module: string): Promise<string | null> {
    const child = this.#pool.take(module);
    this.#child = child;
    const ending = await this.#ending(child);
    if (ending.kind === "died") throw this.#afterDeath(child, ending.death);
    if (ending.kind === "returned" && this.#run.aborted === undefined) {
      this.#pool.giveBack(child);
      return ending.result;
    }
    child.kill();
    await child.exited;
    if (ending.kind === "threw") throw arrived(ending.error);
    return ending.result;
  }

  get hasBegun(): boolean {
    return this.#begun;
  }

  abort(reason: EndOfTrust): void {
    if (this.#begun) this.#child?.abort(reason);
  }

  /** Tells the process's watchdog of a renewal, once each. */
  renewed(): void {
    if (this.#begun && this.#run.lease.sent.monotonicMs > this.#toldMs)
      this.#child?.setDeadline(this.#deadline());
  }

  /** Ends the process, and so the run; asking twice is fine. */
  terminate(reason: EndOfTrust): void {
    if (this.#terminatedFor !== undefined) return;
    this.#terminatedFor = reason;
    this.#child?.kill();
  }

  async #ending(child: IsolatedProcess): Promise<Ending | { readonly kind: "died"; readonly death: Death }> {
    const died = child.exited.then((death) => ({ kind: "died", death }) as const);
    const dead = await Promise.race([child.ready, died]);
    if (dead !== undefined) return dead;
    const run = this.#run;
    if (run.aborted !== undefined) {
      this.#pool.giveBack(child);
      throw new LeaseEndedError(run.aborted, run.lease.token);
    }
    run.refresh();
    const deadline = this.#deadline();
    const { claimed } = run;
    const { maxResultBytes } = run.host;
    const ending = child.begin(
      { module: child.module, claimed, sent: deadline.sent, maxResultBytes },
      deadline,
      this.#listener,
    );
    this.#begun = true;
    run.begins(run.host.world.clock.monotonicMs());
    return Promise.race([ending, died]);
  }

  get #listener(): RunListener {
    const run = this.#run;
    return {
      progress: (json) => run.progress(json),
      log: (text) => run.log(text),
      call: (asked) =>
        asked.method === "readSteps" ? run.readSteps() : run.writeStep(asked.step, asked.change),
    };
  }

  #afterDeath(child: IsolatedProcess, death: Death): Error {
    const { claimed, host, startedAtMs } = this.#run;
    const { name } = claimed.job;
    const { pid } = child;
    if (death.byWatchdog) this.#run.abort("lease_expired");
    const reason =
      this.#terminatedFor ?? (death.byWatchdog ? (this.#run.aborted ?? "lease_expired") : undefined);
    if (reason === undefined || pid === undefined)
      return new ProcessDiedError(name, pid, death.exitCode, death.signal, death.cause);
    host.terminated(this.#run, reason, pid, host.world.clock.monotonicMs() - startedAtMs);
    return new ProcessTerminatedError(name, reason, pid);
  }

  #deadline(): Omit<Deadline, "run"> {
    const { lease, host } = this.#run;
    this.#toldMs = lease.sent.monotonicMs;
    return {
      sent: onMachine(lease.sent, host.world.clock),
      leaseMs: lease.leaseMs,
      marginMs: lease.marginMs,
      graceMs: host.graceMs,
    };
  }
}

const machine = systemWorld().clock;

/**
 * An instant of the worker's world by the clocks that all processes of this machine share. The machine's are read
 * first: a pause between the two makes the instant earlier, and nobody trusts a lease for longer.
 */
function onMachine(at: Instant, clock: Parameters<typeof instant>[0]): Instant {
  const real = instant(machine);
  const own = instant(clock);
  return {
    monotonicMs: at.monotonicMs + real.monotonicMs - own.monotonicMs,
    wallMs: at.wallMs + real.wallMs - own.wallMs,
  };
}
