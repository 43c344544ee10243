import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    typecheck: { enabled: false },
    globalSetup: ["test/support/postgres-setup.ts"],
    testTimeout: 30_000,
    maxWorkers: 2,
  },
});
