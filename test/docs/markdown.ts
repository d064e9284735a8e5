/** Reads our own Markdown: fenced blocks, and tables as rows of cells. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

/** Every page that users read, relative to the root. */
export function pages(): string[] {
  const below = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const docs = below.filter((file) => file.endsWith(".md")).map((file) => join("docs", file));
  return ["README.md", "CHANGELOG.md", "bench/README.md", ...docs.sort()];
}

export function page(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

export interface Block {
  /** The first word after the fence: `js`, `sh`, `text` … */
  readonly language: string;
  /** The words after it. */
  readonly marks: readonly string[];
  readonly text: string;
  /** 1 for the page's first line. */
  readonly line: number;
}

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const opening = /^```(.*)$/.exec(lines[at] as string);
    if (opening === null) continue;
    const [language = "", ...marks] = (opening[1] as string).trim().split(/\s+/);
    const end = lines.indexOf("```", at + 1);
    if (end < 0) throw new Error(`the block in line ${at + 1} has no end`);
    blocks.push({ language, marks, text: `${lines.slice(at + 1, end).join("\n")}\n`, line: at + 1 });
    at = end;
  }
  return blocks;
}

/** `…` stands for whatever differs from run to run. */
export function matching(text: string): RegExp {
  const literal = text.split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}

/** The rows of all tables below `heading` (up to the next heading) whose first column is `column`, by column's name. */
export function tableRows(markdown: string, heading: string, column: string): Record<string, string>[] {
  const lines = markdown.split("\n");
  const begin = heading === "" ? 0 : lines.indexOf(heading) + 1;
  if (heading !== "" && begin === 0) throw new Error(`there is no line ${JSON.stringify(heading)}`);
  const rows: Record<string, string>[] = [];
  let head: string[] | undefined;
  for (const line of lines.slice(begin)) {
    if (heading !== "" && line.startsWith("#")) break;
    if (!line.startsWith("|")) {
      head = undefined;
      continue;
    }
    const cells = line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim());
    if (head === undefined) head = cells;
    else if (head[0] === column && !/^-+$/.test(cells[0] as string)) {
      rows.push(Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ""])));
    }
  }
  return rows;
}

/** `` `leaseMs` `` → `leaseMs`. */
export function unquoted(cell: string): string {
  return cell.replaceAll("`", "");
}
