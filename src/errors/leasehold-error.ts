export interface LeaseholdErrorOptions {
  /** What the reader can do now. */
  readonly next: string;
  readonly cause?: unknown;
}

/** The base of all of them: a stable `code`, and `next`, which says what to do. */
export abstract class LeaseholdError extends Error {
  abstract readonly code: string;
  readonly next: string;

  constructor(message: string, options: LeaseholdErrorOptions) {
    super(
      options.next === "" ? message : `${message} ${options.next}`,
      options.cause === undefined ? {} : { cause: options.cause },
    );
    this.name = new.target.name;
    this.next = options.next;
  }
}
