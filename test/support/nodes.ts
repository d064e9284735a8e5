import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface NodeBinary {
  /** `node` for the one that runs the tests, else the alias in test/node-matrix/package.json, such as `node22`. */
  readonly name: string;
  readonly version: string;
  readonly path: string;
  /** What to do when the binary is not there; hand it to `optional()`. */
  readonly missing?: string;
}

const matrix = new URL("../node-matrix/", import.meta.url);

/** The Node that runs the tests, always first and always there, then those of the matrix, installed or not. */
export function nodeBinaries(): NodeBinary[] {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", matrix), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const others = Object.entries(dependencies).map(([name, target]): NodeBinary => {
    const path = fileURLToPath(new URL(`node_modules/${name}/bin/node`, matrix));
    const found = { name, version: target.slice(target.lastIndexOf("@") + 1), path };
    if (process.platform !== "linux" || process.arch !== "x64")
      return { ...found, missing: "it is for Linux on x64" };
    return existsSync(path) ? found : { ...found, missing: "run `npm ci --prefix test/node-matrix`" };
  });
  return [{ name: "node", version: process.versions.node, path: process.execPath }, ...others];
}
