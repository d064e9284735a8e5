import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { manualWorld } from "../../../src/clock/manual.ts";
import { Channel } from "../../../src/stores/postgres/channel.ts";
import type { PgConnection } from "../../../src/stores/postgres/driver.ts";

const never = new Promise<never>(() => {});

/** A connection whose answers are held up from some moment on, as by a network that loses all. */
class Line extends EventEmitter {
  isCut = false;
  readonly processID = 7;

  async connect(): Promise<void> {}

  query(): Promise<{ rows: unknown[] }> {
    return this.isCut ? never : Promise.resolve({ rows: [{ pid: this.processID }] });
  }

  async end(): Promise<void> {}
}

function channel(notify: (line: Line, payload: string) => Promise<void>, isFirstCut = false) {
  const world = manualWorld();
  const lines: Line[] = [];
  const told = { useless: 0, wakes: 0 };
  new Channel({
    name: "wake",
    world,
    connect() {
      const line = new Line();
      line.isCut = isFirstCut && lines.length === 0;
      lines.push(line);
      return line as unknown as PgConnection;
    },
    notify: (payload) => notify(lines.at(-1)!, payload),
    serverProcess: async () => 8,
    onWake: () => {
      told.wakes += 1;
    },
    onUseless: () => {
      told.useless += 1;
    },
  });
  return { world, lines, told };
}

const arrives = async (line: Line, payload: string): Promise<void> =>
  void line.emit("notification", { payload });

describe("a channel whose own notification does not come back", () => {
  it("is useless when its connection answers: whatever there was for it would have come before", async () => {
    const { world, lines, told } = channel(async () => {});
    await world.advance(1_100);
    expect({ ...told, lines: lines.length }).toEqual({ useless: 1, wakes: 1, lines: 1 });
  });

  it("tries another connection when that one is silent, and is as good as ever", async () => {
    const { world, lines, told } = channel(async (line, payload) => {
      if (lines.length > 1) return arrives(line, payload);
      line.isCut = true;
    });
    await world.advance(3_000);
    expect({ ...told, lines: lines.length }).toEqual({ useless: 0, wakes: 2, lines: 2 });
    await arrives(lines[1]!, "job");
    expect(told.wakes).toBe(3);
  });

  it("tries another connection when nobody can tell whether it was sent", async () => {
    const { world, lines, told } = channel((line, payload) => {
      return lines.length > 1 ? arrives(line, payload) : never;
    });
    await world.advance(3_000);
    expect({ ...told, lines: lines.length }).toEqual({ useless: 0, wakes: 2, lines: 2 });
  });
});

describe("a channel that is cut off before it listens", () => {
  it("tries another connection, though nobody has ended that one", async () => {
    const { world, lines, told } = channel(arrives, true);
    await world.advance(20_000);
    expect({ ...told, lines: lines.length }).toEqual({ useless: 0, wakes: 1, lines: 2 });
  });
});
