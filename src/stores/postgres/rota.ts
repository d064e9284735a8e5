import type { Timer, World } from "../../clock/world.ts";
import type { RingEnd } from "../sleepers.ts";
import type { Turn } from "./bell-text.ts";

/**
 * Who comes next waits so long for who comes before, ms: for a claim, and for word of it. Where that takes long, it waits twice
 * as long as it takes: on a busy server others would make it slower.
 */
const SHORTEST_STEP_MS = 25;
const LONGEST_STEP_MS = 1_000;
/** How much of the longest answer is remembered from one to the next. */
const REMEMBERED = 0.9;
/** Who is done with a job at once comes first for so long, ms; others' turns are later. */
const STAYS_FIRST_MS = 200;
/** More than these are not listed. They come after the list. */
const MOST_LISTED = 64;
/** For so many jobs at once everybody comes. */
const MANY_JOBS = 32;
/** Rings that one note tells of. */
const MOST_ANSWERED = 200;
/** Who has room and is not listed says so within this time, ms; not all in one moment. */
const JOINS_WITHIN_MS = 500;

interface OpenRing {
  readonly jobs: number;
  readonly atMs: number;
  /** Whose turn it was. */
  readonly first: string | undefined;
}

export interface RotaNeeds {
  readonly me: string;
  readonly world: World;
  /** How many jobs of the queue those who sleep here could take. */
  room(): number;
  /** Wakes them. */
  come(jobs: number, onEnd: (end: RingEnd) => void): void;
  /** Tells the others. */
  say(turn: Turn): void;
  /** Whether others have been heard. */
  hasCompany(): boolean;
}

/**
 * Whose turn it is when jobs of one queue become due, of all processes that listen: a job is for one of them, and all of them
 * hear of it. Each keeps the same list. The first on it comes at once, the others at intervals behind, unless they hear
 * first that the ring has been answered. Whoever answers one tells the new order. So a process that is dead, stopped or slow
 * holds up one ring for one interval and is off the list; one that has no room says so and is off it at once.
 *
 * Lists may differ, since words cross and connections break. Then two come, or somebody comes later: it is all a hint, as
 * each ring is, and whoever sleeps looks by itself before long.
 */
export class Rota {
  readonly #needs: RotaNeeds;
  #list: readonly string[] = [];
  /** Rings that nobody has answered yet, as far as is known here. */
  readonly #open = new Map<string, OpenRing>();
  /** Those of them for which somebody here has been woken. */
  readonly #coming = new Map<string, OpenRing>();
  #turn: Timer | undefined;
  #turnAtMs = 0;
  #joining: Timer | undefined;
  /** Whoever comes into company says so, without having heard of it. */
  #hasJoined = false;
  /** Since when it has come first; undefined when it has made way since. */
  #firstSinceMs: number | undefined;
  #mostRoom = 0;
  /** How long it lately took until a ring was answered by whose turn it was. */
  #answerMs = 0;

  constructor(needs: RotaNeeds) {
    this.#needs = needs;
  }

  /** Another process has rung. */
  rung(id: string, jobs: number): void {
    if (this.#needs.room() === 0) {
      this.#pass();
      return;
    }
    this.#open.set(id, { jobs, atMs: this.#needs.world.clock.monotonicMs(), first: this.#list[0] });
    this.#awaitTurn();
  }

  /** The order, as it was told last: everybody hears it in one order, also who has told it. */
  told(from: string, turn: Turn): void {
    const { order, answered } = turn;
    for (const id of answered) {
      const ring = this.#open.get(id) ?? this.#coming.get(id);
      if (ring?.first === from) this.#tookSince(ring.atMs);
      this.#open.delete(id);
      this.#coming.delete(id);
    }
    this.#list = this.#after(from, order);
    if (this.#open.size > 0) this.#awaitTurn();
    else this.#cancelTurn();
    this.join();
  }

  /** Somebody here has room: others are to know, unless they do. */
  join(): void {
    if (this.#joining !== undefined || !this.#mayJoin()) return;
    const { timers, random } = this.#needs.world;
    const joined = (): void => {
      this.#joining = undefined;
      if (!this.#mayJoin()) return;
      this.#hasJoined = true;
      this.#say("joins");
    };
    this.#joining = timers.after(JOINS_WITHIN_MS * random.next(), joined, { background: true });
  }

  /** What others have said may have been missed. */
  forget(): void {
    this.#cancelTurn();
    this.#open.clear();
    this.#list = [];
  }

  /** Nobody here takes jobs of the queue any more. */
  leave(): void {
    this.#joining?.cancel();
    this.#joining = undefined;
    this.#hasJoined = false;
    this.#pass();
    this.forget();
  }

  #tookSince(atMs: number): void {
    const tookMs = this.#needs.world.clock.monotonicMs() - atMs;
    this.#answerMs = Math.max(tookMs, this.#answerMs * REMEMBERED);
  }

  get #stepMs(): number {
    return Math.min(Math.max(SHORTEST_STEP_MS, 2 * this.#answerMs), LONGEST_STEP_MS);
  }

  get #openJobs(): number {
    let jobs = 0;
    for (const ring of this.#open.values()) jobs += ring.jobs;
    return jobs;
  }

  #mayJoin(): boolean {
    const { me, hasCompany, room } = this.#needs;
    const isListed = this.#list.includes(me) || this.#list.length >= MOST_LISTED;
    return !isListed && (hasCompany() || !this.#hasJoined) && room() > 0;
  }

  #pass(): void {
    const { me } = this.#needs;
    if (this.#list.includes(me)) this.#say("leaves");
  }

  #awaitTurn(): void {
    const { me, world } = this.#needs;
    const jobs = this.#openJobs;
    const place = this.#list.indexOf(me);
    const before = place < 0 ? this.#list.length : place;
    const isWanted = before < jobs;
    if (this.#list.length === 0 || jobs >= MANY_JOBS || (place >= 0 && isWanted)) {
      this.#come([]);
      return;
    }
    const behindMs = isWanted ? 0 : before * this.#stepMs;
    const delayMs = behindMs + (place < 0 ? this.#stepMs * world.random.next() : 0);
    const atMs = world.clock.monotonicMs() + delayMs;
    // Word of others' rings never puts it off.
    if (this.#turn !== undefined && this.#turnAtMs <= atMs) return;
    this.#cancelTurn();
    this.#turnAtMs = atMs;
    this.#turn = world.timers.after(delayMs, () => this.#itsTurn(), { background: true });
  }

  #itsTurn(): void {
    const { me, room } = this.#needs;
    this.#turn = undefined;
    const place = this.#list.indexOf(me);
    const silent = place < 0 ? this.#list : this.#list.slice(0, place);
    if (room() > 0) this.#come(silent);
    else {
      this.#open.clear();
      this.#pass();
    }
  }

  /** @param silent whose turn it was before */
  #come(silent: readonly string[]): void {
    this.#cancelTurn();
    const jobs = this.#openJobs;
    const ids = [...this.#open.keys()];
    for (const [id, ring] of this.#open) this.#coming.set(id, ring);
    this.#open.clear();
    this.#mostRoom = Math.max(this.#mostRoom, this.#needs.room());
    this.#needs.come(jobs, (end) => {
      if (end === "left over") for (const id of ids) this.#coming.delete(id);
      // What was claimed is to begin first, and takes its room.
      else this.#needs.world.timers.nextTurn(() => this.#answered(ids, end === "taken" ? silent : undefined));
    });
  }

  /** @param silent undefined when somebody else has taken it, who may be one of them */
  #answered(ids: readonly string[], silent: readonly string[] | undefined): void {
    const answered = ids.filter((id) => this.#coming.delete(id)).slice(0, MOST_ANSWERED);
    if (answered.length === 0 || !this.#needs.hasCompany()) return;
    this.#say(silent === undefined ? this.#list : this.#orderAfter(silent), answered);
  }

  #orderAfter(silent: readonly string[]): readonly string[] {
    const { me, world, room } = this.#needs;
    const others = this.#list.filter((other) => other !== me && !silent.includes(other));
    const left = room();
    if (left === 0) return others;
    const nowMs = world.clock.monotonicMs();
    this.#firstSinceMs ??= nowMs;
    const staysFirst = left >= this.#mostRoom && nowMs - this.#firstSinceMs <= STAYS_FIRST_MS;
    if (staysFirst) return [me, ...others].slice(0, MOST_LISTED);
    this.#firstSinceMs = undefined;
    return [...others, me].slice(0, MOST_LISTED);
  }

  #say(order: Turn["order"], answered: readonly string[] = []): void {
    this.#list = this.#after(this.#needs.me, order);
    this.#needs.say({ order, answered });
  }

  #after(from: string, order: Turn["order"]): readonly string[] {
    if (order === "leaves") return this.#list.filter((one) => one !== from);
    const isKnown = order === "joins" && this.#list.includes(from);
    const list = order !== "joins" ? order : isKnown ? this.#list : [...this.#list, from];
    return list.slice(0, MOST_LISTED);
  }

  #cancelTurn(): void {
    this.#turn?.cancel();
    this.#turn = undefined;
  }
}
