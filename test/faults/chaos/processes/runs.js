// What a worker under test is at. A handler is told its token, which is on its resource's line when it has one; the
// histories tell of runs by their jobs'
// own generations.

export class Runs {
  /** @type {Map<string, number>} */
  #ofToken = new Map();

  /** @param {import("../../../../src/worker/events.ts").RunRef} run */
  began({ id, generation, token }) {
    this.#ofToken.set(`${id} ${token.generation}`, generation);
  }

  /** Handlers that have begun and not ended, also of runs that are over: some ignore their signals for a while. */
  inHandlers = 0;

  /** Jobs whose handlers have ended well, and whose outcomes the store has not been told. @type {Set<string>} */
  unsettled = new Set();

  /** @param {string} job */
  ended(job) {
    this.unsettled.add(job);
  }

  /** @param {string} job */
  over(job) {
    this.unsettled.delete(job);
  }

  /**
   * @param {string} job
   * @param {{ readonly generation: number }} token
   */
  of(job, { generation }) {
    return this.#ofToken.get(`${job} ${generation}`) ?? generation;
  }
}
