import type { Chance } from "./chance.ts";

/** What may go wrong with a single message. */
export const MESSAGE_FAULTS = [
  "lose request",
  "lose reply",
  "duplicate",
  "lose wake-up",
  "busy",
  "delay",
  "cancel the wait for the standby",
] as const;
export type MessageFault = (typeof MESSAGE_FAULTS)[number];

/** What may befall a process, the store or the destination from time to time. */
export const EVENT_FAULTS = [
  "freeze",
  "freeze at a point",
  "kill",
  "kill at a point",
  "block the loop",
  "stop",
  "step a process's clock",
  "step the store's clock",
  "pause the store",
  "stall the standby",
  "fail over",
  "raise the floor",
  "cut off the destination",
  "cancel",
  "revoke",
  "retry",
] as const;
export type EventFault = (typeof EVENT_FAULTS)[number];

/**
 * Which faults a run has, and how often. Each run draws some of them (a swarm): all at once would hide what needs one of
 * them to be absent. After `heal` nothing goes wrong any more.
 */
export class Faults {
  readonly messages = new Map<MessageFault, number>();
  readonly events = new Map<EventFault, number>();
  /** How often each has struck, of either kind. */
  readonly uses = new Map<string, number>();
  /** Event faults that have struck, by name and number. */
  readonly struck: string[] = [];
  readonly #fastestMs: number;
  readonly #slowestMs: number;
  readonly #without: ReadonlySet<string>;
  readonly #strikes = new Map<EventFault, number>();
  #isHealed = false;

  /** @param without faults, and single strikes such as `kill#2`, to leave out: for making a failing run smaller */
  constructor(chance: Chance, without: ReadonlySet<string>, isSynchronous: boolean) {
    this.#without = without;
    for (const fault of MESSAGE_FAULTS) {
      if (chance.happens(0.4)) this.messages.set(fault, chance.between(0.005, 0.15));
    }
    for (const fault of EVENT_FAULTS) {
      if (chance.happens(0.3)) this.events.set(fault, chance.between(0.2, 2.5));
    }
    // What goes wrong with a wait shows in a promotion alone.
    this.messages.delete("cancel the wait for the standby");
    if (isSynchronous && chance.happens(0.6)) {
      this.messages.set("cancel the wait for the standby", chance.between(0.05, 0.5));
      this.events.set("fail over", chance.between(0.2, 2.5));
    }
    // A raise that is lost in a failover right after it, and the promotion's own, can come to one epoch: the protocol's
    // floor does not survive that pair (docs/explanation/simulation.md).
    if (this.events.has("fail over")) this.events.delete("raise the floor");
    this.#fastestMs = chance.between(0.05, 5);
    this.#slowestMs = this.#fastestMs + chance.between(0, 40);
  }

  get names(): string[] {
    return [...this.messages.keys(), ...this.events.keys()];
  }

  heal(): void {
    this.#isHealed = true;
  }

  strikes(fault: MessageFault, chance: Chance): boolean {
    const probability = this.#isHealed ? undefined : this.messages.get(fault);
    if (probability === undefined || !chance.happens(probability) || this.#without.has(fault)) return false;
    this.#use(fault);
    return true;
  }

  /** How long one message is on its way, ms; with the fault now and then as long as many leases. */
  delayMs(chance: Chance): number {
    const ms = chance.between(this.#fastestMs, this.#slowestMs);
    return this.strikes("delay", chance) ? ms + chance.between(0, 5_000) * chance.next() : ms;
  }

  /** Whether this strike is to be made. Left out, it still has its number, so that the others keep theirs. */
  happens(fault: EventFault): boolean {
    const number = (this.#strikes.get(fault) ?? 0) + 1;
    this.#strikes.set(fault, number);
    const name = `${fault}#${number}`;
    if (this.#without.has(fault) || this.#without.has(name)) return false;
    this.struck.push(name);
    this.#use(fault);
    return true;
  }

  /** How many times a second it happens; 0 for never. */
  rateOf(fault: EventFault): number {
    return this.#isHealed ? 0 : (this.events.get(fault) ?? 0);
  }

  #use(fault: string): void {
    this.uses.set(fault, (this.uses.get(fault) ?? 0) + 1);
  }
}
