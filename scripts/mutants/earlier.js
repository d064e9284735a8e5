// What earlier runs have found out about the same sources, for a run that goes on where another one was stopped.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./copy.js";

/** @typedef {import("./tiers.js").Answer} Answer */

/** A mutant of another text, or of sources that have changed meanwhile, is another one. */
export class Earlier {
  #file;
  #sources = hashOf("src") + hashOf("spec");
  #isAsked;
  /** @type {Record<string, Answer>} */
  #answers;

  /** @param {string} file @param {boolean} isAsked otherwise answers are only kept */
  constructor(file, isAsked) {
    this.#file = file;
    this.#isAsked = isAsked;
    this.#answers = read(file);
  }

  /**
   * Only of what was found out: a survivor is asked again, since a test may have come.
   *
   * @param {{ name: string }} mutant
   * @param {string} tier
   * @returns {Answer | undefined}
   */
  answer(mutant, tier) {
    const answer = this.#isAsked ? this.#answers[this.#key(mutant, tier)] : undefined;
    return answer?.isKilled === true ? { ...answer, isEarlier: true } : undefined;
  }

  /** @param {{ name: string }} mutant @param {string} tier @param {Answer} answer */
  keep(mutant, tier, answer) {
    // Read anew: another run may be under way, for other tiers.
    this.#answers = { ...read(this.#file), [this.#key(mutant, tier)]: answer };
    writeFileSync(this.#file, JSON.stringify(this.#answers, null, 1));
  }

  /** @param {{ name: string }} mutant @param {string} tier */
  #key(mutant, tier) {
    const { name, file, edits } = /** @type {Partial<import("./copy.js").SourceMutant>} */ (mutant);
    return createHash("sha256")
      .update(JSON.stringify([this.#sources, tier, name, file, edits]))
      .digest("hex");
  }
}

/** @param {string} file @returns {Record<string, Answer>} */
function read(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** @param {string} folder */
function hashOf(folder) {
  const hash = createHash("sha256");
  // The suites stand in src/testing; no mutant does.
  for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).sort())
    if (/\.\w+$/.test(file) && !file.startsWith("testing"))
      hash.update(file).update(readFileSync(join(ROOT, folder, file)));
  return hash.digest("hex");
}
