import type { World } from "../../clock/world.ts";
import type { Sleepers } from "../sleepers.ts";
import { hashOf, noteTexts, parsed, type RingText, type Turn } from "./bell-text.ts";
import { Rota } from "./rota.ts";

export interface RotasNeeds {
  readonly world: World;
  readonly me: string;
  readonly sleepers: Sleepers;
  readonly notify: (payload: string) => Promise<void>;
  /** Another process has made something due. */
  readonly onRing: () => void;
}

/** What this process hears of others, and says to them: a rota for each queue that somebody here takes jobs of. */
export class Rotas {
  readonly #needs: RotasNeeds;
  /** By the queue's name, and by its hash. */
  readonly #byQueue = new Map<string, Rota>();
  readonly #byHash = new Map<string, Rota>();
  #unsaid = new Map<string, Turn>();
  /** Somebody else listens too, or did. */
  #hasCompany = false;
  #closed = false;

  constructor(needs: RotasNeeds) {
    this.#needs = needs;
  }

  join(queues: readonly string[]): void {
    for (const queue of queues) this.#rotaOf(queue).join();
  }

  leave(queues: readonly string[]): void {
    const { sleepers } = this.#needs;
    for (const queue of queues) if (!sleepers.serve(queue)) this.#byQueue.get(queue)?.leave();
  }

  /** @param payload undefined when something may have been missed */
  heard(payload: string | undefined): void {
    const { me, sleepers, onRing } = this.#needs;
    if (payload === undefined) {
      for (const rota of this.#byQueue.values()) rota.forget();
      onRing();
      sleepers.wakeAll();
      return;
    }
    const text = parsed(payload);
    if (text?.kind !== "ring" && text?.from !== me) this.#hasCompany = true;
    if (text?.kind === "note")
      for (const [hash, turn] of text.turns) this.#byHash.get(hash)?.told(text.from, turn);
    // Whoever sleeps here was woken by hand.
    if (text?.kind === "ring" && text.from !== me) this.#rung(text);
  }

  close(): void {
    this.#closed = true;
    for (const rota of this.#byQueue.values()) rota.leave();
  }

  #rung({ id, due }: RingText): void {
    this.#needs.onRing();
    if (due === "anything") this.#needs.sleepers.wakeAll();
    else {
      for (const [hash, jobs] of due) this.#byHash.get(hash)?.rung(id, jobs);
      this.#needs.sleepers.wakeOthers();
    }
  }

  #rotaOf(queue: string): Rota {
    const known = this.#byQueue.get(queue);
    if (known !== undefined) return known;
    const { me, world, sleepers } = this.#needs;
    const hash = hashOf(queue);
    const rota = new Rota({
      me,
      world,
      room: () => sleepers.roomFor(queue),
      come: (jobs, onEnd) => sleepers.ring(queue, jobs, onEnd),
      say: (turn) => this.#say(hash, turn),
      hasCompany: () => this.#hasCompany,
    });
    this.#byQueue.set(queue, rota);
    this.#byHash.set(hash, rota);
    return rota;
  }

  /** What is said in one moment goes out together. */
  #say(hash: string, turn: Turn): void {
    if (this.#closed) return;
    // One word for each queue: a second one is kept apart.
    if (this.#unsaid.has(hash)) this.#sayAll();
    if (this.#unsaid.size === 0) queueMicrotask(() => this.#sayAll());
    this.#unsaid.set(hash, turn);
  }

  #sayAll(): void {
    const { me, notify } = this.#needs;
    const texts = noteTexts(me, this.#unsaid);
    this.#unsaid = new Map();
    for (const text of texts) notify(text).catch(() => {}); // others come when it is their turn
  }
}
