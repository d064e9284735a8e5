import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeProgram } from "../../src/cli/program.ts";
import { blocksOf, page, pages, ROOT } from "./markdown.ts";

describe.each(pages())("%s", (path) => {
  it("links to what is there", () => {
    const broken = linksOf(page(path)).filter((link) => !leadsSomewhere(path, link));
    expect(broken).toEqual([]);
  });
});

describe("the commands in the docs", () => {
  const commands = pages().flatMap((path) =>
    blocksOf(page(path))
      .filter(({ language }) => language === "sh")
      .flatMap(({ text }) => text.split("\n").map((line) => line.replace(/#.*/, "").trim()))
      .filter((line) => line !== ""),
  );

  it("are those that `leasehold` has, with options that they have", () => {
    const known = new Map(makeProgram().commands.map((command) => [command.name(), command]));
    const ours = commands.filter((line) => line.startsWith("npx leasehold"));
    expect(ours.length).toBeGreaterThan(3);
    for (const line of ours) {
      const [name = "", ...rest] = line.split(" -- ")[0]!.split(/\s+/).slice(2);
      const command = known.get(name);
      expect(command, line).toBeDefined();
      const options = command?.options.map(({ long }) => long);
      for (const flag of rest.filter((word) => word.startsWith("--"))) expect(options, line).toContain(flag);
    }
  });

  it("are scripts of this package, where npm runs them", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };
    const run = commands.flatMap((line) => [...line.matchAll(/npm (?:run )?(start|test|bench|\w+:\w+)/g)]);
    expect(run.length).toBeGreaterThan(2);
    for (const [, script] of run) expect(Object.keys(scripts)).toContain(script);
  });
});

describe("the docs", () => {
  it("can all be reached from the README", () => {
    const seen = new Set<string>();
    const open = ["README.md"];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (seen.has(path) || !path.endsWith(".md")) continue;
      seen.add(path);
      for (const link of linksOf(page(path))) {
        const target = link.split("#")[0];
        if (target !== "" && target !== undefined && existsSync(join(ROOT, dirname(path), target)))
          open.push(join(dirname(path), target));
      }
    }
    expect(pages().filter((path) => !seen.has(path))).toEqual([]);
  });
});

/** Links within the repository. */
function linksOf(markdown: string): string[] {
  return [...markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link as string)
    .filter((link) => !/^[a-z]+:/.test(link));
}

function leadsSomewhere(from: string, link: string): boolean {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? from : join(dirname(from), file);
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(page(target)).includes(anchor);
}

/** As code hosts make them from headings. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
