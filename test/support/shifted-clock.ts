/** Runs `body` while both of this process's clocks, as JavaScript reads them, are wrong by `offsetMs`. */
export async function withShiftedClock(offsetMs: number, body: () => Promise<void>): Promise<void> {
  const { now } = Date;
  const { hrtime } = process;
  Date.now = () => now() + offsetMs;
  process.hrtime = Object.assign(
    (since?: [number, number]): [number, number] => {
      const [seconds, nanoseconds] = hrtime();
      const shifted: [number, number] = [seconds + offsetMs / 1_000, nanoseconds];
      return since === undefined ? shifted : hrtime([since[0] - offsetMs / 1_000, since[1]]);
    },
    { bigint: () => hrtime.bigint() + BigInt(offsetMs) * 1_000_000n },
  );
  try {
    await body();
  } finally {
    Date.now = now;
    process.hrtime = hrtime;
  }
}
