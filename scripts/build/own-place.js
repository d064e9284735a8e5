// A module finds the files beside it, SQL, Lua and what its threads start from, by `import.meta.url`. In a chunk that would be
// the chunk's place; so it is told the module's own, at which dist/ has those files as src/ has them.

import { relative, sep } from "node:path";
import { RolldownMagicString } from "rolldown";

/** The module that knows where dist/ is. Its chunk has to be one folder below. */
export const DIST_MODULE = "\0dist";

/**
 * @param {string} source the folder whose modules are told
 * @returns {import("rolldown").Plugin}
 */
export function ownPlace(source) {
  return {
    name: "own-place",
    resolveId: (name) => (name === DIST_MODULE ? DIST_MODULE : undefined),
    load: (id) => (id === DIST_MODULE ? `export const dist = new URL("../", import.meta.url);` : undefined),
    transform: {
      filter: { id: /\.ts$/, code: "import.meta.url" },
      handler(code, id) {
        const urls = [...urlsIn(this.parse(code, { lang: "ts" }))];
        if (urls.length === 0) return;
        const place = relative(source, id).split(sep).join("/").replace(/\.ts$/, ".js");
        const text = new RolldownMagicString(code);
        text.prepend(`import { dist } from ${JSON.stringify(DIST_MODULE)};`);
        for (const { start, end } of urls) text.overwrite(start, end, `new URL("${place}", dist).href`);
        return { code: text.toString(), map: text.generateMap({ hires: true }).toString() };
      },
    },
  };
}

/**
 * Every `import.meta.url` of the program, not those in texts and comments.
 *
 * @param {any} node
 * @returns {Generator<{ start: number, end: number }>}
 */
function* urlsIn(node) {
  if (
    node?.type === "MemberExpression" &&
    node.object.type === "MetaProperty" &&
    node.property.name === "url"
  )
    yield node;
  else if (typeof node === "object" && node !== null)
    for (const part of Object.values(node)) yield* urlsIn(part);
}
