// What the conformance suites showed, as a table: subject × chapter × count of tests that passed.

/** Conformance suites name their first describe so. */
const SUBJECT = /^(?:the |an? )?(.*) keeps the (protocol|destination contract)$/;

/** @typedef {{ kept: string, subject: string, chapter: string, passed: number, failed: number, gaps: number }} Cell */

export class ConformanceCounts {
  /** @type {Map<string, Cell>} */
  #cells = new Map();

  /** @param {import("vitest/node").TestCase} test */
  add(test) {
    /** @type {string[]} */
    const names = [];
    for (let suite = test.parent; suite.type === "suite"; suite = suite.parent) names.unshift(suite.name);
    const at = names.findIndex((name) => SUBJECT.test(name));
    const chapter = names[at + 1];
    if (at < 0 || chapter === undefined || test.result().state === "skipped") return;
    const [, subject = "", kept = ""] = SUBJECT.exec(names[at] ?? "") ?? [];
    const key = `${kept}\0${subject}\0${chapter}`;
    const cell = this.#cells.get(key) ?? { kept, subject, chapter, passed: 0, failed: 0, gaps: 0 };
    this.#cells.set(key, cell);
    if (test.result().state !== "passed") cell.failed += 1;
    else if (test.name.startsWith("(gap, ")) cell.gaps += 1;
    else cell.passed += 1;
  }

  /** @returns {Cell[]} */
  cells() {
    return [...this.#cells.values()];
  }
}

/**
 * A table for each text that is kept: one line a chapter, one column a subject. Empty when no suite was run.
 *
 * @param {readonly Cell[]} cells
 * @returns {string[]}
 */
export function conformanceTables(cells) {
  const texts = [...new Set(cells.map(({ kept }) => kept))].sort().reverse();
  return texts.flatMap((kept) =>
    tableOf(
      kept,
      cells.filter((cell) => cell.kept === kept),
    ),
  );
}

/**
 * @param {string} kept
 * @param {readonly Cell[]} cells
 */
function tableOf(kept, cells) {
  const subjects = [...new Set(cells.map(({ subject }) => subject))].sort();
  const chapters = [...new Set(cells.map(({ chapter }) => chapter))];
  const rows = chapters.map((chapter) => [
    chapter,
    ...subjects.map((subject) =>
      shown(cells.filter((cell) => cell.chapter === chapter && cell.subject === subject)),
    ),
  ]);
  const totals = subjects.map((subject) => shown(cells.filter((cell) => cell.subject === subject)));
  const lines = [[`the ${kept}`, ...subjects], ...rows, ["all", ...totals]];
  const widths = (lines[0] ?? []).map((_, n) => Math.max(...lines.map((line) => line[n]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((text, n) => text.padEnd(widths[n] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** @param {readonly Cell[]} cells */
function shown(cells) {
  const sum = (/** @type {"passed" | "failed" | "gaps"} */ kind) =>
    cells.reduce((total, cell) => total + cell[kind], 0);
  const parts = [
    String(sum("passed")),
    ...(sum("gaps") > 0 ? [`${sum("gaps")} explained gaps`] : []),
    ...(sum("failed") > 0 ? [`${sum("failed")} FAILED`] : []),
  ];
  return parts.join(" + ").replace(/^0$/, "-");
}
