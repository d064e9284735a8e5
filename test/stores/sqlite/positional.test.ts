import { describe, expect, it } from "vitest";
import { ofRows, positional } from "../../../src/stores/sqlite/positional.ts";
import { loadStatements } from "../../../src/stores/sqlite/sql.ts";

describe("parameters by position", () => {
  it("have one number for one name, wherever it stands", () => {
    expect(positional("select :a, :b_c where :a > 1")).toEqual({
      text: "select ?1, ?2 where ?1 > 1",
      names: ["a", "b_c"],
    });
  });

  it("are not looked for in literals and comments", () => {
    const text = "select ':a', '''-- :b' -- of :c\n where x = :d";
    expect(positional(text)).toEqual({ text: text.replace(":d", "?1"), names: ["d"] });
  });

  it("of several rows are first those that all share", () => {
    const one = "insert into t (a, b, c)\nvalues (:a, :b, :c)\n    on conflict (a) do nothing";
    expect(ofRows(one, ["a", "c"], 2)).toEqual({
      text: "insert into t (a, b, c)\nvalues (?2, ?1, ?3),\n       (?4, ?1, ?5)\n    on conflict (a) do nothing",
      names: ["b"],
    });
  });

  it("make of the insert of one job one of as many as are written by a statement", () => {
    const { text, names } = ofRows(loadStatements().get("enqueue one") as string, ["job_id", "input"], 32);
    expect(text.match(/\(\?/g)).toHaveLength(32);
    expect(text).toContain(`?${names.length + 64}`);
    expect(text).not.toContain(`?${names.length + 65}`);
  });
});
