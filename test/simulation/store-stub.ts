import type { Listener, Store } from "../../src/stores/store.ts";

type Call = (method: string, args: readonly unknown[]) => Promise<unknown>;

/** Each call of a part of the store by its name, such as `due` of `schedules`. */
class PartStub {
  readonly call: Call;

  constructor(call: Call) {
    this.call = call;
  }
}

/**
 * A store that hands each call on, by its name and arguments. All processes of all worlds share its methods, as they would
 * those of a real store: some thousand worlds make many of them, and each with functions of its own is a class of its own
 * to whatever compiles the code that calls them.
 */
export class StoreStub extends PartStub {
  readonly description: string = "simulated";
  readonly renewalThread: undefined;
  readonly order: object;
  readonly schedules: object;
  readonly listen: (onWake: () => void) => Listener;

  constructor(call: Call, listen: (onWake: () => void) => Listener) {
    super(call);
    this.listen = listen;
    this.order = new OrderStub(call);
    this.schedules = new SchedulesStub(call);
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  async pendingMigrations(): ReturnType<Store["pendingMigrations"]> {
    return [];
  }
}

class OrderStub extends PartStub {}

class SchedulesStub extends PartStub {}

define(StoreStub, "", [
  ...["enqueue", "claim", "renew", "settle", "completeWith", "write", "outcome", "heal", "cancel", "revoke"],
  ...["retry", "resolveStep", "delete", "prune", "acquire", "renewLeases", "release", "healLease"],
  ...["deleteLease", "getLease", "get", "list", "counts", "steps", "journal", "nowMs", "pause", "limitQueue"],
  "raiseFloor",
]);
define(OrderStub, "order.", ["waits", "batch"]);
define(SchedulesStub, "schedules.", ["due", "fire", "put", "remove", "get", "list"]);

function define(
  { prototype }: { readonly prototype: PartStub },
  part: string,
  names: readonly string[],
): void {
  for (const name of names) {
    const method = part + name;
    const value = function (this: PartStub, ...args: unknown[]): Promise<unknown> {
      return this.call(method, args);
    };
    Object.defineProperty(prototype, name, { value });
  }
}
