import { Chance } from "./chance.ts";
import { Cluster } from "./cluster.ts";
import { Destination } from "./destination.ts";
import { Faults } from "./faults.ts";
import { Judge } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import type { Mutant } from "./mutants.ts";
import { realTurn, VirtualTime } from "./virtual-time.ts";
import type { WireCounts } from "./wire.ts";
import { drawTerms, type Terms } from "./workload.ts";

/** What all processes of one run share: time, the store with its history, the destination, and who judges them. */
export class SimWorld {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly terms: Terms;
  readonly mutant: Mutant;
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly destination: Destination;
  readonly judge: Judge;
  readonly wires: WireCounts = { unknown: 0, lostRequests: 0, lostReplies: 0, duplicates: 0 };

  readonly #told: ((line: string) => void) | undefined;

  /** @param isSlow takes a turn of the event loop after each happening, whether or not it is needed */
  constructor(
    seed: number,
    mutant: Mutant,
    without: ReadonlySet<string>,
    isSlow: boolean,
    told?: (line: string) => void,
  ) {
    this.#told = told;
    this.mutant = mutant;
    this.chance = new Chance(seed);
    this.terms = drawTerms(this.chance.branch());
    this.faults = new Faults(this.chance.branch(), without, this.terms.cluster.isSynchronous);
    this.time = new VirtualTime(isSlow ? realTurn : undefined);
    this.judge = new Judge(this.time);
    this.cluster = new Cluster(this.time, this.chance.branch(), this.faults, mutant, this.terms.cluster);
    this.cluster.observe = (primary, method, args, value, nowMs) =>
      this.judge.look(primary, method, args, value, nowMs);
    const later = this.chance.branch();
    this.ledger = new Ledger(
      mutant.ledger ?? {},
      () => new Promise((go) => this.time.after(later.between(0, this.terms.leaseMs), () => go())),
    );
    this.destination = new Destination(this.terms.kit, this.ledger);
  }

  /** For whoever wants to read the story. */
  tell(line: () => string): void {
    this.#told?.(`${this.time.nowMs.toFixed(1)} ${line()}`);
  }
}
