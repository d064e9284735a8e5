import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { type Finding, lint } from "./snippets.ts";

const snippets = new Map<string, string>();
let found: Map<string, Finding[]>;

/** Puts `code` where it will be linted, and returns the path to ask about. */
function at(folder: string, code: string, name = `snippet-${snippets.size}.ts`): string {
  const path = `${folder}/${name}`;
  snippets.set(path, code);
  return path;
}

const rulesBroken = (path: string): string[] => found.get(path)!.map(({ rule }) => rule);
const importing = (module: string): string => `export { thing } from "${module}";`;

beforeAll(() => {
  found = lint(snippets);
});

describe("imports go one way", () => {
  const layers: { folder: string; name?: string; may: string[]; mayNot: string[] }[] = [
    {
      folder: "src/protocol",
      may: ["./claim.ts", "../errors.ts"],
      mayNot: [
        "../clock/world.ts",
        "../stores/store.ts",
        "../destinations/file.ts",
        "../client/a.ts",
        "node:fs",
      ],
    },
    {
      folder: "src/clock",
      may: ["../protocol/identity.ts", "../errors.ts", "node:timers"],
      mayNot: [
        "../stores/store.ts",
        "../destinations/file.ts",
        "../client/a.ts",
        "../worker/a.ts",
        "../cli/a.ts",
      ],
    },
    {
      folder: "src",
      name: "errors.ts",
      may: ["./protocol/identity.ts"],
      mayNot: ["./stores/store.ts", "./destinations/file.ts", "./client/a.ts", "./testing/index.ts"],
    },
    {
      folder: "src/errors",
      may: ["./leasehold-error.ts", "../protocol/identity.ts"],
      mayNot: ["../stores/store.ts", "../destinations/file.ts", "../client/a.ts", "../testing/index.ts"],
    },
    {
      folder: "src/transactions",
      may: ["../errors.ts", "../protocol/identity.ts"],
      mayNot: [
        "../stores/store.ts",
        "../destinations/destination.ts",
        "../client/a.ts",
        "../testing/index.ts",
      ],
    },
    {
      folder: "src/node-postgres",
      may: ["../clock/world.ts", "../errors.ts"],
      mayNot: ["../stores/store.ts", "../destinations/destination.ts", "../client/a.ts"],
    },
    {
      folder: "src/schedules",
      may: ["../protocol/slots.ts", "../errors.ts", "./cron.ts", "croner"],
      mayNot: ["../clock/world.ts", "../stores/store.ts", "../client/a.ts", "../worker/a.ts"],
    },
    {
      folder: "src/stores",
      may: ["../protocol/claim.ts", "../clock/world.ts", "../errors.ts", "./store.ts", "./schedules.ts"],
      mayNot: [
        "../schedules/cron.ts",
        "./memory/index.ts",
        "./sqlite/index.ts",
        "../destinations/file.ts",
        "../worker/a.ts",
      ],
    },
    {
      folder: "src/stores/memory",
      may: ["../store.ts", "../../protocol/claim.ts"],
      mayNot: [
        "../sqlite/index.ts",
        "../postgres/index.ts",
        "../../destinations/file.ts",
        "../../client/a.ts",
      ],
    },
    {
      folder: "src/stores/sqlite",
      may: ["../store.ts", "../../clock/world.ts", "node:fs"],
      mayNot: [
        "../memory/index.ts",
        "../postgres/index.ts",
        "../../destinations/file.ts",
        "../../worker/a.ts",
      ],
    },
    {
      folder: "src/stores/postgres",
      may: ["../store.ts", "../../errors.ts"],
      mayNot: [
        "../memory/index.ts",
        "../sqlite/index.ts",
        "../../destinations/postgres.ts",
        "../../cli/a.ts",
      ],
    },
    {
      folder: "src/destinations",
      may: [
        "../protocol/destination-rule.ts",
        "../clock/world.ts",
        "../transactions/postgres.ts",
        "./destination.ts",
      ],
      mayNot: ["../stores/store.ts", "../stores/sqlite/driver.ts", "../client/a.ts", "../server/a.ts"],
    },
    {
      folder: "src/client",
      may: ["../stores/store.ts", "../destinations/destination.ts", "../worker/a.ts"],
      mayNot: ["../server/a.ts", "../cli/a.ts", "../testing/index.ts"],
    },
    {
      folder: "src/worker",
      may: ["../stores/store.ts", "../destinations/destination.ts", "../client/a.ts"],
      mayNot: ["../server/a.ts", "../cli/a.ts", "../testing/index.ts"],
    },
    {
      folder: "src/server",
      may: ["../client/a.ts", "../worker/a.ts", "../stores/store.ts"],
      mayNot: ["../cli/a.ts", "../testing/index.ts"],
    },
    {
      folder: "src/cli",
      may: ["../server/a.ts", "../worker/a.ts", "../index.ts", "commander", "ms", "jiti"],
      mayNot: ["../testing/index.ts"],
    },
    {
      folder: "src/testing",
      may: ["../index.ts", "../stores/store.ts", "../stores/memory/index.ts", "../clock/manual.ts"],
      mayNot: ["../client/a.ts", "../worker/a.ts", "../server/a.ts", "../cli/a.ts"],
    },
  ];

  it("gives every folder under src/ its place", () => {
    const folders = readdirSync(new URL("../../src/", import.meta.url), { withFileTypes: true });
    const placed = layers.map(({ folder }) => folder);
    for (const entry of folders) if (entry.isDirectory()) expect(placed).toContain(`src/${entry.name}`);
  });

  for (const { folder, name, may, mayNot } of layers) {
    const path = name === undefined ? folder : `${folder}/${name}`;
    // A file of its own name can be linted once: allowed and forbidden lines go in together and are told apart by count.
    const both =
      name === undefined ? undefined : at(folder, [...may, ...mayNot].map(importing).join("\n"), name);
    if (both !== undefined) {
      it(`lets ${path} import ${may.join(", ")} alone`, () => {
        expect(rulesBroken(both)).toEqual(mayNot.map(() => "lint/style/noRestrictedImports"));
      });
      continue;
    }
    const allowed = at(folder, may.map(importing).join("\n"));
    it(`lets ${path} import ${may.join(", ")}`, () => expect(found.get(allowed)).toEqual([]));
    for (const module of mayNot) {
      const forbidden = at(folder, importing(module));
      it(`keeps ${path} from importing ${module}`, () => {
        expect(rulesBroken(forbidden)).toEqual(["lint/style/noRestrictedImports"]);
      });
    }
  }

  for (const [form, code] of [
    ["a type", 'import type { T } from "../cli/a.ts";\nexport type U = T;'],
    ["a re-exported type", 'export type { T } from "../cli/a.ts";'],
    ["a lazy import", 'export const load = () => import("../cli/a.ts");'],
  ] as const) {
    const path = at("src/worker", code);
    it(`sees ${form}`, () => expect(rulesBroken(path)).toEqual(["lint/style/noRestrictedImports"]));
  }

  for (const module of ["commander", "cli-progress", "cli-table3", "jiti", "ms"]) {
    const path = at("src/client", importing(module));
    it(`leaves ${module} to the command line`, () => expect(rulesBroken(path)).toEqual(["plugin"]));
  }

  const one = at("src/client", 'import { b } from "./b.ts";\nexport const a = () => b;', "a.ts");
  const other = at("src/client", 'import { a } from "./a.ts";\nexport const b = () => a;', "b.ts");
  it("refuses a circle", () => {
    expect(rulesBroken(one)).toEqual(["lint/suspicious/noImportCycles"]);
    expect(rulesBroken(other)).toEqual(["lint/suspicious/noImportCycles"]);
  });
});

describe("only src/clock asks the machine for time, timers, randomness and ids", () => {
  const ambient = [
    "Date.now()",
    'Date["now"]()',
    "new Date()",
    "Date()",
    "performance.now()",
    "process.hrtime()",
    "process.hrtime.bigint()",
    "process.uptime()",
    "setTimeout(() => {}, 1)",
    "setInterval(() => {}, 1)",
    "setImmediate(() => {})",
    "globalThis.setTimeout(() => {}, 1)",
    "AbortSignal.timeout(1)",
    "Math.random()",
    "crypto.randomUUID()",
    "crypto.getRandomValues(new Uint8Array(1))",
    'import("node:timers/promises")',
  ];
  for (const code of ambient) {
    const path = at("src/worker", `export const read = () => ${code};`);
    const inCli = at("src/cli", `export const read = () => ${code};`);
    const inClock = at("src/clock", `export const read = () => ${code};`);
    it(`refuses \`${code}\` elsewhere`, () => {
      for (const elsewhere of [path, inCli]) {
        expect(rulesBroken(elsewhere)).toHaveLength(1);
        expect(rulesBroken(elsewhere)[0]).toMatch(/^(plugin|lint\/style\/noRestrictedGlobals)$/);
      }
      expect(found.get(inClock)).toEqual([]);
    });
  }

  const taken = [
    "const { now } = Date;\nexport const read = now;",
    "const { random } = Math;\nexport const read = random;",
    'import { setTimeout as sleep } from "node:timers/promises";\nexport const read = sleep;',
    'import timers from "timers";\nexport const read = timers;',
    'import { performance as p } from "node:perf_hooks";\nexport const read = p;',
    'import { createHash, randomUUID } from "node:crypto";\nexport const read = [createHash, randomUUID];',
    'import { randomBytes } from "node:crypto";\nexport const read = randomBytes;',
    'import * as node from "node:crypto";\nexport const read = () => node.randomBytes(8);',
    'import { v7 } from "uuid";\nexport const read = v7;',
  ];
  for (const code of taken) {
    const path = at("src/stores/sqlite", code);
    it(`refuses \`${code.split("\n")[0]}\` elsewhere`, () => expect(rulesBroken(path)).toContain("plugin"));
  }

  const free = [
    "export const iso = (ms: number) => new Date(ms).toISOString();",
    "export const parsed = (text: string) => Date.parse(text);",
    "export const larger = Math.max(1, 2);",
    "export const soon = () => queueMicrotask(() => {});",
    "export const stop = (timer: NodeJS.Timeout) => clearTimeout(timer);",
    'import { createHash } from "node:crypto";\nexport const hash = createHash;',
    'import { v5 } from "uuid";\nexport const derived = v5;',
  ];
  for (const code of free) {
    const path = at("src/worker", code);
    it(`allows \`${code.split("\n")[0]}\``, () => expect(found.get(path)).toEqual([]));
  }

  const script = at("scripts", "export const startedAtMs = Date.now();");
  it("says nothing about code outside src/", () => expect(found.get(script)).toEqual([]));
});

describe("exports have names", () => {
  for (const code of [
    'export * from "./a.ts";',
    'export * as all from "./a.ts";',
    'export type * from "./a.ts";',
  ]) {
    const path = at("src/stores", code);
    it(`refuses \`${code}\``, () => {
      expect(rulesBroken(path)).toHaveLength(1);
      expect(rulesBroken(path)[0]).toMatch(/^(plugin|lint\/performance\/noReExportAll)$/);
    });
  }

  const path = at("src/stores", "export default 1;");
  it("refuses a default export", () => expect(rulesBroken(path)).toEqual(["lint/style/noDefaultExport"]));
});
