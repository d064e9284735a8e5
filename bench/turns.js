// The measuring itself: rounds, in which the systems take turns.

const TRIES = 3;

/**
 * @typedef {object} Figures
 * @property {Map<string, Map<string, number[][]>>} found by `case system`, then by the figure's name: one list a round
 * @property {Map<string, string[]>} failures by `case system`: what ended runs that were then repeated
 * @property {Map<string, number>} seconds by `case system`: how long all of its rounds took, with all that has to be made first
 */

/**
 * In turns, and every other round the other way about: what else the machine does meets all of them.
 *
 * @param {readonly import("./cases.js").Case[]} cases
 * @param {Record<string, import("./systems/system.js").System[]>} systems by database
 * @param {{ rounds: number, settingOf(one: import("./cases.js").Case): import("./cases.js").Setting,
 *   onTurn(text: string): void }} options
 * @returns {Promise<Figures>}
 */
export async function measured(cases, systems, { rounds, settingOf, onTurn }) {
  /** @type {Figures} */
  const figures = { found: new Map(), failures: new Map(), seconds: new Map() };
  for (let round = 0; round < rounds; round++) {
    for (const one of cases) {
      if (round >= roundsOf(one, rounds)) continue;
      const present = systems[one.database];
      for (const system of round % 2 === 0 ? present : present.toReversed()) {
        const run = one.on(system, settingOf(one));
        if (run === undefined) continue;
        onTurn(`round ${round + 1}/${rounds}: ${one.id}, ${system.name}`);
        const key = keyOf(one, system);
        const beganMs = performance.now();
        const result = await tried(run, (why) => push(figures.failures, key, why));
        const took = (performance.now() - beganMs) / 1_000;
        figures.seconds.set(key, (figures.seconds.get(key) ?? 0) + took);
        for (const [name, figure] of namedFigures(result)) {
          const byName = figures.found.get(key) ?? new Map();
          figures.found.set(key, byName);
          push(byName, name, [figure].flat());
        }
      }
    }
  }
  return figures;
}

/** @param {import("./cases.js").Case} one @param {number} rounds of the run */
export function roundsOf(one, rounds) {
  return Math.min(rounds, one.rounds ?? rounds);
}

/** @param {{ id: string }} one @param {{ name: string }} system */
export function keyOf(one, system) {
  return `${one.id} ${system.name}`;
}

/** A run in which a process died says nothing about speed: it is noted and repeated. */
async function tried(run, onFailure) {
  for (let left = TRIES; left > 0; left--) {
    try {
      return await run();
    } catch (error) {
      onFailure(error instanceof Error ? error.message : String(error));
    }
  }
  return undefined;
}

/** @param {import("./cases.js").Measured | undefined} result @returns {[string, number | number[]][]} */
function namedFigures(result) {
  if (result === undefined) return [];
  return typeof result === "number" || Array.isArray(result) ? [["", result]] : Object.entries(result);
}

function push(map, key, value) {
  map.set(key, [...(map.get(key) ?? []), value]);
}
