import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "inspector/src/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
    typecheck: { enabled: false },
    globalSetup: ["test/support/postgres-setup.ts", "test/inspector/build.ts"],
    testTimeout: 30_000,
    maxWorkers: 2,
  },
});
