import { UnknownOutcomeError } from "../errors.ts";
import type { ScheduleStore } from "../stores/schedules.ts";
import type { Store } from "../stores/store.ts";

/** A call on the store that is about to be made. */
export interface FaultyCall {
  readonly method: keyof Store | `schedules.${keyof ScheduleStore}`;
  readonly args: readonly unknown[];
  /** 1 for the first call of this method, and so on. */
  readonly number: number;
}

/**
 * What becomes of a call. `drop request`: it never arrives. `drop reply`: it is done, and nobody hears of it. Both reject
 * with `UnknownOutcomeError`, since the caller cannot tell them apart. `duplicate`: it arrives twice, and the second
 * answer is heard. `delay`: the request or the reply is held until the promise resolves.
 */
export type Fault =
  | "none"
  | "drop request"
  | "drop reply"
  | "duplicate"
  | { readonly delayRequest: Promise<unknown> }
  | { readonly delayReply: Promise<unknown> };

/** Asked once per call, before it is made. */
export type FaultPlan = (call: FaultyCall) => Fault;

/** Never a fault's target: they are not calls over a wire. */
const UNTOUCHED: readonly PropertyKey[] = ["listen", "close", "description", "renewalThread"];

/** `store` behind a connection that behaves as `plan` says. The store itself stays sound. */
export function faultStore<S extends Store>(store: S, plan: FaultPlan): S {
  const counts = new Map<string, number>();
  const faulty = <Target extends object>(real: Target, prefix: string): Target =>
    new Proxy(real, {
      get(target, property): unknown {
        const member: unknown = Reflect.get(target, property);
        if (property === "schedules") return faulty(member as ScheduleStore, "schedules.");
        if (typeof member !== "function") return member;
        const call = (...args: unknown[]): Promise<unknown> => Reflect.apply(member, target, args);
        if (UNTOUCHED.includes(property)) return call;
        return (...args: unknown[]) => {
          const method = `${prefix}${String(property)}`;
          const number = (counts.get(method) ?? 0) + 1;
          counts.set(method, number);
          const planned = plan({ method: method as FaultyCall["method"], args, number });
          return suffer(planned, method, () => call(...args));
        };
      },
    });
  return faulty(store, "");
}

async function suffer(fault: Fault, method: string, call: () => Promise<unknown>): Promise<unknown> {
  if (fault === "none") return call();
  if (fault === "drop request") throw new UnknownOutcomeError(method, new Error("the request was lost"));
  if (fault === "drop reply") {
    await call();
    throw new UnknownOutcomeError(method, new Error("the reply was lost"));
  }
  if (fault === "duplicate") {
    await call();
    return call();
  }
  if ("delayRequest" in fault) {
    await fault.delayRequest;
    return call();
  }
  const reply = await call();
  await fault.delayReply;
  return reply;
}
