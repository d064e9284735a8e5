import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { page, pages, ROOT } from "./markdown.ts";

describe.each(pages())("%s", (path) => {
  it("links to what is there", () => {
    const broken = linksOf(page(path)).filter((link) => !leadsSomewhere(path, link));
    expect(broken).toEqual([]);
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
