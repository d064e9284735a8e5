import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EffectLease, file } from "../../src/destinations/file/index.ts";
import type { FencingToken, Line } from "../../src/protocol/identity.ts";
import type { DestinationHarness, EffectWriter } from "../../src/testing/index.ts";

/** Each effect is a line of text more: `[line, effect]`. Handles share nothing but the folder. */
export const fileHarness: DestinationHarness = {
  level: "fenced",
  gaps: [],
  async open() {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-file-"));
    const path = join(folder, "effects");
    const writer = writerOn(path);
    return {
      writer,
      another: async () => writerOn(path),
      effects: async (line) => landed(path).flatMap(([of, effect]) => (of === line ? [effect] : [])),
      writeWithoutToken: (line, effect) => {
        const bare: unknown = { line, effectScope: null };
        return file(path).write(bare as EffectLease, effect);
      },
      failInside: (token) =>
        file(path).write(leaseOf(token), () => {
          throw new Error("failed inside");
        }),
      // No process keeps its state; a handle that knows nothing is all that a restart leaves.
      restart: async () => writerOn(path),
      prune: (below) => file(path).prune(below),
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
};

export function leaseOf(token: FencingToken): EffectLease {
  return { token, effectScope: null };
}

function writerOn(path: string): EffectWriter {
  const destination = file(path);
  return {
    level: destination.level,
    async write(token, _options, effect) {
      const added = `${JSON.stringify([token.line, effect])}\n`;
      await destination.write(leaseOf(token), (current) => `${current ?? ""}${added}`);
      return { answer: "" };
    },
    advance: (token) => destination.advance(leaseOf(token)),
    markOf: (line) => destination.markOf(line),
    probe: () => destination.probe(),
  };
}

function landed(path: string): [Line, string][] {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return []; // nothing has landed
  }
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as [Line, string]);
}
