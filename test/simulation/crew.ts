import { Leasehold } from "../../src/client/leasehold.ts";
import type { FaultPoint } from "../../src/clock/world.ts";
import type { Fence, JobId } from "../../src/protocol/identity.ts";
import type { Settlement } from "../../src/protocol/settle.ts";
import type { Claimed } from "../../src/stores/store.ts";
import type { Worker } from "../../src/worker/worker.ts";
import { Effects } from "./effects.ts";
import { runName } from "./judge.ts";
import type { Position } from "./primary.ts";
import { type Heard, RemoteStore } from "./remote-store.ts";
import { type Clocks, SimProcess } from "./sim-process.ts";
import { Wire } from "./wire.ts";
import { workOf } from "./workload.ts";
import type { SimWorld } from "./world.ts";

export interface Running {
  readonly process: SimProcess;
  readonly effects: Effects;
  readonly worker: Worker;
  /** Its worker has been stopped, and the process lives on. */
  isStopped: boolean;
}

/** What a worker has told of jobs, and where the store's answer stood that it rests on. */
function shown({ args, value }: Heard): string {
  return `${JSON.stringify(args.slice(0, -1))?.slice(0, 400)} → ${JSON.stringify(value)?.slice(0, 400)}`;
}

/** Whose leases a call of `renew` is for. */
function runsIn([fences]: readonly unknown[]): string[] {
  return (fences as readonly Fence[]).map(({ jobId, owner, generation }) =>
    runName(jobId, owner, generation),
  );
}

export interface Told {
  readonly jobId: JobId;
  readonly position: Position;
}

/** The worker processes, what they hear from the store, and what they tell. */
export class Crew {
  readonly running: Running[] = [];
  readonly completed: Told[] = [];
  readonly #world: SimWorld;
  readonly #isHealed: () => boolean;
  #incarnations = 0;

  constructor(world: SimWorld, isHealed: () => boolean) {
    this.#world = world;
    this.#isHealed = isHealed;
  }

  start(onPoint: (process: SimProcess, point: FaultPoint) => void): Running {
    const { chance, terms, judge } = this.#world;
    const own = chance.branch();
    const process = this.process(`w${++this.#incarnations}`);
    const effects = new Effects(this.#world, process);
    process.onPoint = (point) => onPoint(process, point);
    const remote = this.remote(process);
    effects.remote = remote;
    const client = this.client(process, remote);
    const worker = client.work([workOf(terms, own, effects, this.#isHealed)], {
      queues: Array.from({ length: terms.queues }, (_, n) => `q${n + 1}`),
      concurrency: terms.concurrency,
      pollMs: terms.pollMs,
      graceMs: terms.graceMs,
      renewer: "inline",
      schedules: terms.everyMs !== undefined,
    });
    const running = { process, effects, worker, isStopped: false };
    judge.owners.set(worker.owner, process);
    this.#listen(running, remote);
    this.running.push(running);
    return running;
  }

  process(name: string): SimProcess {
    const { chance, time } = this.#world;
    const clocks: Clocks = { rate: chance.between(0.995, 1.005), aheadMs: chance.between(-90_000, 90_000) };
    return new SimProcess(name, time, chance.branch(), clocks);
  }

  remote(process: SimProcess): RemoteStore {
    const { chance, time, faults, wires, cluster } = this.#world;
    const wire = new Wire(process, time, chance.branch(), faults, wires);
    return new RemoteStore(process, cluster, wire, faults, chance.branch());
  }

  client(process: SimProcess, { store }: RemoteStore): Leasehold {
    const { callTimeoutMs } = this.#world.terms;
    return new Leasehold({ store, world: process.world, log: () => {}, callTimeoutMs });
  }

  #listen({ process, effects, worker }: Running, remote: RemoteStore): void {
    const { judge } = this.#world;
    /** By run: the answer that ended it, or said that it is over. */
    const ends = new Map<string, { readonly outcome: string; readonly position: Position }>();
    remote.onCall = (method, args) => {
      judge.asks(worker.owner, method);
      if (method === "renew") judge.failedRenewals.sent(runsIn(args));
    };
    remote.onFailure = (method, args) => {
      if (method === "renew") judge.failedRenewals.failed(runsIn(args), this.#world.time.nowMs);
    };
    remote.onAnswer = (heard) => {
      this.#world.tell(() => `${process.name} hears of ${heard.method}: ${shown(heard)}`);
      if (heard.method === "claim") this.#heardClaim(process, effects, heard);
      else if (heard.method === "renew") this.#heardRenewal(effects, heard, ends);
      else this.#heardEnd(heard, ends);
    };
    worker.on("completed", ({ job }) => {
      const end = ends.get(runName(job.id, worker.owner, job.generation));
      if (end === undefined || (end.outcome !== "applied" && end.outcome !== "already"))
        judge.broken.push(`I13: ${process.name} told that job ${job.id} completed, and no answer said so`);
      else this.completed.push({ jobId: job.id, position: end.position });
    });
    worker.on("lost", ({ job }) => {
      const run = runName(job.id, worker.owner, job.generation);
      judge.given.add(run);
      if (ends.get(run)?.outcome !== "stale" && ends.get(run)?.outcome !== "gone")
        judge.broken.push(`W5: ${process.name} lost job ${job.id}, and no answer said so`);
    });
    for (const event of ["started", "completed", "lost", "stuck", "aborted", "released", "stopped"] as const)
      worker.on(event, (told) =>
        this.#world.tell(() => `${process.name} tells ${event}: ${JSON.stringify(told)}`),
      );
    worker.on("stuck", ({ job }) => judge.given.add(runName(job.id, worker.owner, job.generation)));
    worker.on("aborted", ({ job, reason }) => {
      if (reason !== "lease_expired") judge.given.add(runName(job.id, worker.owner, job.generation));
    });
  }

  #heardClaim(process: SimProcess, effects: Effects, { value, sentMs }: Heard): void {
    for (const { job, token } of (value as Claimed).jobs) {
      const run = runName(job.jobId, job.owner, job.generation);
      // One that comes late is not believed, and not renewed either.
      if (process.monotonicMs() - sentMs < job.leaseMs / 2) this.#world.judge.heard.add(run);
      effects.claimed(run, token, sentMs);
    }
  }

  #heardRenewal(
    effects: Effects,
    { args, value, sentMs, position }: Heard,
    ends: Map<string, { readonly outcome: string; readonly position: Position }>,
  ): void {
    const answers = value as readonly { readonly outcome: string }[];
    (args[0] as readonly Fence[]).forEach(({ jobId, owner, generation }, n) => {
      const run = runName(jobId, owner, generation);
      const outcome = answers[n]?.outcome;
      if (outcome === "applied") effects.renewed(run, sentMs);
      if (outcome !== "stale" && outcome !== "gone") return;
      effects.refused(run);
      this.#world.judge.given.add(run);
      // That it was current is what an earlier answer said.
      if ((ends.get(run)?.outcome ?? "current") === "current") ends.set(run, { outcome, position });
    });
  }

  #heardEnd(
    { method, args, value, position }: Heard,
    ends: Map<string, { readonly outcome: string; readonly position: Position }>,
  ): void {
    const note = ({ jobId, owner, generation }: Fence, outcome: string): void => {
      const run = runName(jobId, owner, generation);
      // Ended for its worker: a promotion that loses the end finds a lease that nobody renews.
      if (outcome !== "current" && outcome !== "busy" && outcome !== "too_high")
        this.#world.judge.given.add(run);
      const known = ends.get(run)?.outcome;
      if (known !== "applied" && known !== "already") ends.set(run, { outcome, position });
    };
    if (method === "settle") {
      const answers = value as readonly { readonly outcome: string }[];
      for (const [n, { fence }] of (args[0] as readonly Settlement[]).entries())
        note(fence, answers[n]?.outcome ?? "");
    } else if (method === "completeWith") note(args[0] as Fence, "applied");
    else if (method === "outcome" || method === "heal") {
      const { outcome } = value as { readonly outcome: string };
      note(args[0] as Fence, outcome === "settled" ? "applied" : outcome);
    } else if (method === "write") {
      const answers = value as readonly { readonly outcome: string }[];
      (args[0] as readonly { readonly fence: Fence }[]).forEach(({ fence }, n) => {
        const outcome = answers[n]?.outcome ?? "";
        if (outcome === "stale" || outcome === "gone") note(fence, outcome);
      });
    }
  }
}
