import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import tsconfig from "./tsconfig.json" with { type: "json" };

/** Examples and snippets import the package by its name, as users do: it is the source that runs, as with tsx. */
const alias = Object.entries(tsconfig.compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path as string, import.meta.url)),
}));

export default defineConfig({
  resolve: { alias },
  test: {
    testTimeout: 30_000,
    // One more than the cores of a small machine: many wait for processes, leases and pages.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: "units",
          include: ["src/**/*.test.ts", "inspector/src/**/*.test.{ts,tsx}"],
          globalSetup: ["test/support/postgres-setup.ts"],
          // They share the modules that they load, which takes half the time. What changes the process stays in test/.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["docs/snippets/**/*.test.ts", "test/**/*.test.ts"],
          globalSetup: ["test/support/postgres-setup.ts", "test/support/built-setup.ts", "test/inspector/setup.ts"],
        },
      },
    ],
  },
});
