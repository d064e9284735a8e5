import { durably, type GuardDatabase, type GuardStatement } from "./database.ts";

/** The statements that make transactions of what is done on the caller's handle. */
export class Connection {
  readonly database: GuardDatabase;
  readonly #prepared = new Map<string, GuardStatement>();

  constructor(database: GuardDatabase) {
    this.database = database;
  }

  /**
   * Takes the write lock.
   *
   * @returns what sets the handle back to how durable it was; to be called when the transaction is over
   * @throws {HandleInUse} or what SQLite says
   */
  begin(): () => void {
    if (this.database.isTransaction === true) throw new HandleInUse();
    const setBack = durably(this.database);
    const restore = (): void => {
      try {
        setBack();
      } catch {
        // A body has closed the handle: it will not be written with any more.
      }
    };
    try {
      this.#run("begin immediate");
      return restore;
    } catch (error) {
      restore();
      throw error;
    }
  }

  /** Known to be so; some handles do not tell, and one that was closed cannot. */
  get isOutside(): boolean {
    try {
      return this.database.isTransaction === false;
    } catch {
      return true;
    }
  }

  commit(): void {
    this.#run("commit");
  }

  rollBack(): void {
    try {
      this.database.exec("rollback");
    } catch {
      // SQLite had rolled back on its own; the error that led here is the one to be told.
    }
  }

  savepoint(): void {
    this.#run("savepoint leasehold_write");
  }

  release(): void {
    this.#run("release leasehold_write");
  }

  /** What was done since the savepoint. */
  undo(): void {
    this.#run("rollback to leasehold_write");
    this.release();
  }

  #run(text: string): void {
    let statement = this.#prepared.get(text);
    if (statement === undefined) {
      statement = this.database.prepare(text);
      this.#prepared.set(text, statement);
    }
    statement.run();
  }
}

/** The caller has a transaction open on the handle: its end is waited for. */
export class HandleInUse extends Error {
  constructor() {
    super("The handle is in a transaction of its owner's.");
  }
}
