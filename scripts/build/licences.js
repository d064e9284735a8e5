// The licences of the packages that are built in, which have to go where their code goes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @param {string} root the project
 * @param {readonly string[]} packages
 * @returns {string}
 * @throws {Error} one of them comes without its licence
 */
export function licences(root, packages) {
  const parts = packages.map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
    if (file === undefined) throw new Error(`${name} ${version} (${license}) comes without its licence`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `Parts of these packages are built into the files of lib/.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
