// A test that fails has found a mutant out only when it passes without it, and an invariant that breaks when it holds.

import { ROOT, removeCopy, run } from "./copy.js";
import { askProcesses, testsIn } from "./tiers.js";

/** @typedef {import("../mutants.js").Found} Found */

const SOUND_WORLDS = 60;

/**
 * @param {readonly Found[]} found
 * @param {string} program the simulation's hunt, of the project as it is
 * @param {string} folder a copy without a mutant; it is removed
 * @returns {Promise<readonly string[]>} what is wrong
 */
export async function control(found, program, folder) {
  try {
    return [
      ...(await soundSimulation(found, program)),
      ...(await soundTests(found, folder)),
      ...(await soundProcesses(found, folder)),
    ];
  } finally {
    removeCopy(folder);
  }
}

/** @param {readonly Found[]} found @param {string} program */
async function soundSimulation(found, program) {
  if (!found.some(({ tier }) => tier === "simulation")) return [];
  const { code, told } = await run([program, "1", String(SOUND_WORLDS)], ROOT);
  return code === 0 ? [] : [`the simulation of the project as it is: ${told.trim()}`];
}

/** @param {readonly Found[]} found @param {string} folder */
async function soundTests(found, folder) {
  const tests = found.flatMap(({ test }) => test ?? []);
  if (tests.length === 0) return [];
  const files = [...new Set(tests.map(({ file }) => file))];
  const names = [...new Set(tests.map(({ name }) => name))];
  const pattern = `^(${names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})$`;
  const { failed, names: passed, told } = await testsIn(folder, files, ["-t", pattern]);
  const missing = names.filter((name) => !passed.includes(name));
  if (failed.length === 0 && missing.length === names.length)
    return [`the tests that found mutants out were not run: ${told.trim()}`];
  return missing.map(
    (name) => `${name}: ${failed.find((one) => one.name === name)?.message ?? "was not run"}`,
  );
}

/** @param {readonly Found[]} found @param {string} folder */
async function soundProcesses(found, folder) {
  const asked = found.flatMap(({ tier, chaos }) =>
    tier === "processes" && chaos !== undefined ? [chaos] : [],
  );
  /** @type {string[]} */
  const wrong = [];
  for (const plan of new Set(asked.map((chaos) => chaos.plan))) {
    const breaks = asked.flatMap((chaos) => (chaos.plan === plan ? chaos.breaks : []));
    const { isKilled, by } = await askProcesses(folder, { plan, breaks: [...new Set(breaks)] }, 1);
    if (isKilled) wrong.push(`real processes: ${by}`);
  }
  return wrong;
}
