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
    include: ["src/**/*.test.ts", "docs/snippets/**/*.test.ts", "inspector/src/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
    typecheck: { enabled: false },
    globalSetup: ["test/support/postgres-setup.ts", "test/inspector/build.ts"],
    testTimeout: 30_000,
    maxWorkers: 2,
  },
});
