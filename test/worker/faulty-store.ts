import type { ScheduleStore } from "../../src/stores/schedules.ts";
import type { Store } from "../../src/stores/store.ts";

type Method =
  | Exclude<keyof Store, "description" | "renewalThread" | "listen" | "schedules">
  | `schedules.${keyof ScheduleStore}`;

/** A store whose calls a test can watch, delay, drop and break; it does nothing of this by itself. */
export interface FaultyStore extends Store {
  /** Every call so far, in order. */
  readonly calls: { readonly method: Method; readonly args: readonly unknown[] }[];
  /** Before the real call: may wait, throw (nothing happened), or change nothing. */
  before(method: Method, fault: (...args: never[]) => unknown): () => void;
  /** After the real call: may wait, or throw (it happened, and the answer is lost). */
  after(method: Method, fault: (answer: never) => unknown): () => void;
  called(method: Method): number;
}

export function faulty(store: Store): FaultyStore {
  const before = new Map<Method, Set<(...args: never[]) => unknown>>();
  const after = new Map<Method, Set<(answer: never) => unknown>>();
  const calls: { method: Method; args: readonly unknown[] }[] = [];
  const add = <Fault>(faults: Map<Method, Set<Fault>>, method: Method, fault: Fault): (() => void) => {
    const set = faults.get(method) ?? new Set();
    faults.set(method, set.add(fault));
    return () => void set.delete(fault);
  };
  const own = {
    calls,
    before: (method: Method, fault: (...args: never[]) => unknown) => add(before, method, fault),
    after: (method: Method, fault: (answer: never) => unknown) => add(after, method, fault),
    called: (method: Method) => calls.filter((call) => call.method === method).length,
  };
  const wrapped = (real: object, prefix: string): object =>
    new Proxy(real, {
      get(target, key) {
        if (prefix === "" && key in own) return own[key as keyof typeof own];
        const member = Reflect.get(target, key, target) as unknown;
        if (key === "schedules") return wrapped(member as object, "schedules.");
        if (typeof member !== "function") return member;
        if (key === "listen") return member.bind(target);
        const method = `${prefix}${String(key)}` as Method;
        return async (...args: never[]) => {
          calls.push({ method, args });
          for (const fault of [...(before.get(method) ?? [])]) await fault(...args);
          const answer = (await member.apply(target, args)) as never;
          for (const fault of [...(after.get(method) ?? [])]) await fault(answer);
          return answer;
        };
      },
    });
  return wrapped(store, "") as FaultyStore;
}
