import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { storeLocation } from "../../src/cli/store-url.ts";

describe("the store", () => {
  it("is named by the flag, then by LEASEHOLD_STORE, then ./leasehold.db", () => {
    const env = { LEASEHOLD_STORE: "env.db" };
    expect(storeLocation("flag.db", env)).toMatchObject({ path: resolve("flag.db"), namedBy: "--store" });
    expect(storeLocation(undefined, env)).toMatchObject({
      path: resolve("env.db"),
      namedBy: "LEASEHOLD_STORE",
    });
    expect(storeLocation(undefined, {})).toMatchObject({
      path: resolve("leasehold.db"),
      namedBy: "the default",
    });
    expect(storeLocation(undefined, { LEASEHOLD_STORE: "" })).toMatchObject({ namedBy: "the default" });
  });

  for (const [given, path] of [
    ["sqlite:jobs.db", resolve("jobs.db")],
    ["sqlite:/var/jobs.db", "/var/jobs.db"],
    ["sqlite:///var/jobs.db", "/var/jobs.db"],
    ["a folder/jobs?.db", resolve("a folder/jobs?.db")],
  ] as const) {
    it(`reads ${given} as a file`, () => expect(storeLocation(given, {})).toMatchObject({ path }));
  }

  it("takes synchronous=normal", () => {
    expect(storeLocation("sqlite:jobs.db?synchronous=normal", {})).toMatchObject({
      path: resolve("jobs.db"),
      synchronous: "normal",
    });
  });

  for (const [given, expected] of [
    ["postgres://localhost/x", { connectionString: "postgres://localhost/x", schema: undefined }],
    ["postgresql://u:p@db:6432/x", { connectionString: "postgresql://u:p@db:6432/x", schema: undefined }],
    [
      "postgres://db/x?sslmode=require&schema=letters",
      { connectionString: "postgres://db/x?sslmode=require", schema: "letters" },
    ],
  ] as const) {
    it(`reads ${given} as a PostgreSQL store`, () =>
      expect(storeLocation(given, {})).toMatchObject(expected));
  }

  for (const [given, message] of [
    ["postgres://local host/x", /is no connection string/],
    ["redis://localhost", /unknown kind of store "redis:"/],
    ["sqlite:", /is empty/],
    ["", /is empty/],
    [":memory:", /ends with its process/],
    ["sqlite::memory:", /ends with its process/],
    ["sqlite:x.db?synchronous=off", /"full" or "normal"/],
    ["sqlite:x.db?mode=ro", /unknown option "mode"/],
  ] as const) {
    it(`refuses ${JSON.stringify(given)}`, () => expect(() => storeLocation(given, {})).toThrow(message));
  }
});
