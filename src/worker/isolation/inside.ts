/** Known by every copy of this package in the process. */
const MARK: unique symbol = Symbol.for("leasehold.isolated");

export function markAsIsolated(): void {
  Reflect.set(process, MARK, true);
}

/** Whether this process runs isolated jobs for a worker elsewhere. */
export function isIsolatedProcess(): boolean {
  return Reflect.get(process, MARK) === true;
}
