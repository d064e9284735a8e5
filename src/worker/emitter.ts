/**
 * Typed events. Unlike Node's emitter, a listener that throws is reported instead of breaking what it listened to, and
 * an `error` that nobody listens to ends nothing.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();
  readonly #failed: (error: unknown, event: keyof Events) => void;

  constructor(failed: (error: unknown, event: keyof Events) => void) {
    this.#failed = failed;
  }

  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) this.#listeners.set(name, new Set([listener]));
    else listeners.add(listener);
  }

  off<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): void {
    const listeners = this.#listeners.get(name);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(name);
  }

  /** Whether making the event is worth its while. */
  has(name: keyof Events): boolean {
    return this.#listeners.has(name);
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    for (const listener of [...listeners]) {
      try {
        (listener as (event: Events[Name]) => void)(event);
      } catch (error) {
        this.#failed(error, name);
      }
    }
  }
}
