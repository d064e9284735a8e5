import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Leasehold } from "leasehold";
import { sqlite } from "leasehold/sqlite";
import { onTestFinished } from "vitest";
import { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";

export interface Line {
  readonly pid: number;
  readonly n?: number;
  readonly atMs?: number;
  readonly state?: string;
  readonly grandchild?: number;
  readonly reason?: string;
}

export interface IsolationWorld {
  readonly path: string;
  readonly leasehold: Leasehold;
  /** For the lines that a handler writes. */
  readonly file: string;
  lines(): Line[];
  /** The first line, when it has been written. */
  firstLine(): Promise<Line>;
  /** A worker in a process of its own. */
  worker(graceMs: number): Child;
}

/** Runs from dist/: isolated processes start from there. */
export function isolationWorld(): IsolationWorld {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  const path = join(folder, "test.db");
  const file = join(folder, "lines");
  const leasehold = new Leasehold({ store: sqlite(path), log: () => {} });
  onTestFinished(async () => {
    await leasehold.close();
    rmSync(folder, { recursive: true });
  });
  const lines = (): Line[] => {
    if (!existsSync(file)) return [];
    const whole = readFileSync(file, "utf8").split("\n").slice(0, -1);
    return whole.map((line) => JSON.parse(line) as Line);
  };
  return {
    path,
    leasehold,
    file,
    lines,
    firstLine: () => eventually("the first line", () => lines()[0]),
    worker(graceMs) {
      const child = new Child(fileURLToPath(new URL("./worker.js", import.meta.url)), [path, graceMs]);
      onTestFinished(() => child.kill());
      return child;
    },
  };
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when there is no such process any more. */
export function gone(pid: number): Promise<true> {
  return eventually(`process ${pid} to be gone`, () => !isAlive(pid));
}
