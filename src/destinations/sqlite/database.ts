/** What is used of the caller's handle, which is `node:sqlite`'s `DatabaseSync` or one alike. */

export interface GuardStatement {
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  get(...parameters: unknown[]): Record<string, unknown> | undefined;
  all(...parameters: unknown[]): Record<string, unknown>[];
}

export interface GuardDatabase {
  exec(sql: string): void;
  prepare(sql: string): GuardStatement;
  readonly isTransaction?: boolean;
}

const BUSY = 5;
const LOCKED = 6;
const FULL = 13;

/** SQLite's primary result code, or undefined when the error is not one of SQLite's. */
function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === BUSY || code === LOCKED;
}

/** Of an error of COMMIT: whether it is known to have rolled back. */
export function isDefinite(error: unknown): boolean {
  return isBusy(error) || codeOf(error) === FULL;
}

const SYNCHRONOUS_FULL = 2;

const synchronous = new WeakMap<GuardDatabase, GuardStatement>();

/** Marks have to survive a power cut with what they guard, whatever the handle is set to for other writes. */
export function durably(database: GuardDatabase): () => void {
  let asked = synchronous.get(database);
  if (asked === undefined) {
    asked = database.prepare("pragma synchronous");
    synchronous.set(database, asked);
  }
  const was = Number(asked.get()?.["synchronous"]);
  if (!(was < SYNCHRONOUS_FULL)) return () => {};
  database.exec("pragma synchronous = full");
  return () => database.exec(`pragma synchronous = ${was}`);
}
