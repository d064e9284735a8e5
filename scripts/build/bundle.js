// src/ to a few files: finding, reading and linking one takes Node half a millisecond, and start-up was mostly that.
//
// Every module stands in one chunk only. So a class is one, through whichever door it came, and `instanceof` holds.

import { readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { rolldown } from "rolldown";
import { DOORS } from "./doors.js";
import { DIST_MODULE, ownPlace } from "./own-place.js";

/**
 * The chunks that more than one door needs, the most widely used first: each takes what its modules import too, unless one
 * before it has that already. So a chunk only ever imports from those before it, and none runs half way through another.
 * Modules that do something when they are imported, the programs, must not be here: a chunk runs whole.
 *
 * What no door shares is in the door's own file, and what only some commands load, in chunks that the bundler makes.
 *
 * @type {[name: string, modules: RegExp][]}
 */
const CHUNKS = [
  ["base", /^(errors|errors\/.*|printable|clock\/system|protocol\/.*|destinations\/refusals)\.ts$/],
  ["lease", /^worker\/(renewer|held-lease|slots|drift|isolation\/(kill-group|messages))\.ts$/],
  ["run", /^worker\/(run-context|result-json|ticker|isolation\/(inside|carried-error|job-module))\.ts$/],
  ["leasehold", /^index\.ts$/],
  ["stores", /^stores\/[^/]*\.ts$/],
  ["node-postgres", /^(node-postgres|transactions)\/.*\.ts$/],
  ["sqlite", /^stores\/sqlite\/(index|renewal)\.ts$/],
  ["postgres", /^stores\/postgres\/(index|renewal)\.ts$/],
  ["destinations", /^destinations\/[^/]*\.ts$/],
  ["destinations-sqlite", /^destinations\/sqlite\/index\.ts$/],
  ["destinations-postgres", /^destinations\/postgres\/index\.ts$/],
  ["cli", /^cli\/(exit|error-line|client|store-url|journal-text|accounts\/kinds|drill\/faults)\.ts$/],
  ["command-line", /^cli\/(output|options)\.ts$/],
];

/**
 * @param {string} root the project
 * @param {string} folder where to write, a sibling of dist/
 * @returns {Promise<string[]>} the packages that were built in
 */
export async function bundle(root, folder) {
  const source = join(root, "src");
  const ofSource = (/** @type {string} */ id) => relative(source, id).split(sep).join("/");
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(DOORS.map((door) => [door, join(source, `${door}.ts`)])),
    platform: "node",
    tsconfig: join(root, "tsconfig.build.json"),
    external: outside(root),
    transform: { target: "node20.19" },
    plugins: [ownPlace(source)],
    // A module that one command loads late, and another at once, is in the chunk of the latter: nothing is wrong with that.
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await build.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "lib/[name].js",
    // What a reader of the types needs is in the .d.ts files, and the source maps have the rest.
    comments: { jsdoc: false, annotation: false, legal: true },
    // An error tells its name from its class, which may share a chunk with another of its name.
    keepNames: true,
    minifyInternalExports: false,
    codeSplitting: {
      groups: CHUNKS.map(([name, modules], n) => ({
        name,
        test: (/** @type {string} */ id) => modules.test(ofSource(id)) || (n === 0 && id === DIST_MODULE),
      })),
    },
  });
  await build.close();
  const packages = output
    .flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
    .map((id) => packageOf(id.split(sep).join("/")));
  return [...new Set(packages.filter((name) => name !== undefined))].sort();
}

/** undefined for a module of our own. @param {string} id */
function packageOf(id) {
  return /^\0(rolldown)\//.exec(id)?.[1] ?? /.*\bnode_modules\/((@[^/]+\/)?[^/]+)/.exec(id)?.[1];
}

/** What is not built in: what an application installs with us, or beside us. @param {string} root */
function outside(root) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { dependencies, optionalDependencies, peerDependencies } = manifest;
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
}
