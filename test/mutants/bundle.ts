import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "vite";
import { filesOf, mutated, type SourceMutant } from "./source-mutant.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Bundles a program of the tests together with all of `src/` that it uses, as one file that Node can run, so that the mutant's
 * text can stand in place of what is in `src/`.
 *
 * @param entry from the project's root
 * @param outDir a folder that exists
 * @returns the program's file
 * @throws {Error} the mutant's text was not found exactly once, or its file is no part of the program
 */
export async function bundle(entry: string, outDir: string, mutant?: SourceMutant): Promise<string> {
  let isApplied = mutant === undefined;
  const plugin: Plugin = {
    name: "mutant",
    enforce: "pre",
    load(id) {
      if (!id.startsWith(ROOT) || id.includes("node_modules") || !id.endsWith(".ts")) return null;
      let text = readFileSync(id, "utf8");
      const file = relative(ROOT, id);
      if (mutant !== undefined && filesOf(mutant).includes(file)) {
        text = mutated(mutant, file, text);
        isApplied = true;
      }
      // Files that stand beside a module stay where they are.
      return text.replaceAll(/(?<=[(,] ?)import\.meta\.url(?=\))/g, JSON.stringify(pathToFileURL(id).href));
    },
  };
  await build({
    root: ROOT,
    configFile: false,
    logLevel: "warn",
    plugins: [plugin],
    build: {
      ssr: join(ROOT, entry),
      outDir,
      emptyOutDir: false,
      minify: false,
      target: "node20",
      rolldownOptions: { output: { entryFileNames: "program.mjs", chunkFileNames: "[name]-[hash].mjs" } },
    },
  });
  if (!isApplied) throw new Error(`${mutant?.file} is no part of ${entry}`);
  return join(outDir, "program.mjs");
}
