import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Processes: tests kill, stop and start things, and a native SQLite handle belongs to one process.
    pool: "forks",
    // One more than there are cores in CI: many tests wait for leases and for disks.
    maxWorkers: 3,
    // Tests wait for signals, never for time; these are for the day on which a signal does not come.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    coverage: { provider: "v8", include: ["src/**"] },
  },
});
