import { createRequire } from "node:module";

/** What bench/package.json asks for, exactly. @type {Record<string, string>} */
export const { dependencies: versions } = createRequire(import.meta.url)("../package.json");
