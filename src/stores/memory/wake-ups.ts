import type { Listener } from "../store.ts";

/** Who sleeps and is to be told. A callback comes in a microtask of its own, never inside the write that caused it. */
export class WakeUps {
  readonly #armed = new Set<() => void>();

  listen(onWake: () => void): Listener {
    let closed = false;
    const wake = (): void => {
      if (!closed) onWake();
    };
    return {
      arm: () => {
        if (!closed) this.#armed.add(wake);
      },
      close: () => {
        closed = true;
        this.#armed.delete(wake);
      },
    };
  }

  /** Something may have become due. Each listener hears it once per arming. */
  wake(): void {
    for (const wake of this.#armed) void Promise.resolve().then(wake);
    this.#armed.clear();
  }
}
