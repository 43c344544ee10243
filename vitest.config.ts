import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { scratch } from "./test/support/scratch.ts";
import tsconfig from "./tsconfig.json" with { type: "json" };

// No test asks a provider or touches a database of whoever runs it: workers and their children inherit this.
const theirs = ["MODEL", "DATABASE_URL", "OPENRATH_STORE", "OPENRATH_HOME"];
for (const name of Object.keys(process.env)) if (theirs.includes(name) || name.endsWith("_API_KEY")) delete process.env[name];

/** Examples and snippets import the package by its name, as users do: it is the source that runs, as with tsx. */
const alias = Object.entries(tsconfig.compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(path as string, import.meta.url)),
}));

/**
 * What takes minutes together, each a process by itself: programs that are killed at every place, simulated worlds, real browsers, records
 * tampered with bit by bit, thousands of readers and of files, commands and servers whose surroundings fail.
 */
const storms = [
  ...["crash", "inspector", "simulation"].map((folder) => `test/${folder}/**/*.test.ts`),
  ...["streams", "tampering", "workspace"].map((name) => `test/integration/${name}.test.ts`),
  ...["dev", "kill", "ready", "restart", "serve"].map((name) => `test/server/${name}.test.ts`),
  ...["foreign-home", "process", "spans"].map((name) => `test/cli/${name}.test.ts`),
  "test/examples/cluster.test.ts",
  "src/runtime/publish.test.ts",
];
/** What changes its process, weighs its memory or lives by its own clock has a process to itself. */
const alone = [
  "docs/snippets/**/*.test.ts",
  ...["docs", "examples", "hostile", "package", "questions"].map((folder) => `test/${folder}/**/*.test.ts`),
  ...["acting-sandbox", "api-programs", "mcp", "parked", "programs"].map((name) => `test/integration/${name}.test.ts`),
  ...["fuzz", "observed", "sockets", "web"].map((name) => `test/server/${name}.test.ts`),
  "src/memory/words.test.ts",
];
/** Short files that take long, as they hold whole suites: a fresh clone, which knows no times, would begin with what is written in most words. */
const long = [
  "sandbox/conformance",
  ...["postgres", "sqlite", "memory"].map((name) => `store/${name}`),
  ...["postgres", "sqlite", "volatile"].map((name) => `memory/${name}`),
  ...["cli/print-file", "workspace/disk-use", "server/feed-hub"],
].map((name) => fileURLToPath(new URL(`./src/${name}.test.ts`, import.meta.url)));

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const place = ({ project, moduleId }: TestSpecification): number => 2 * projects.indexOf(project) + (long.includes(moduleId) ? 0 : 1);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}

/** The storms, which are about what lasts, stay on the disk, and so does what weighs a disk: there nobody else writes meanwhile. */
const env: Record<string, string> = scratch === undefined ? {} : { TMPDIR: scratch };
// What takes so long hangs: what must be fast says so itself. Whoever asks first for something shared waits in a hook until it is made.
const timeouts = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  resolve: { alias },
  test: {
    // Twice the cores of a small machine: many wait for processes, leases and pages.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    // Lent to the files of all projects.
    globalSetup: [...["scratch", "postgres", "built"].map((name) => `test/support/${name}-setup.ts`), "test/inspector/setup.ts"],
    projects: [
      {
        resolve: { alias },
        test: {
          name: "together",
          include: ["src/**/*.test.ts", "inspector/src/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...alone, ...storms],
          ...timeouts,
          env,
          // They share the modules that they load, which takes half the time.
          isolate: false,
        },
      },
      {
        resolve: { alias },
        test: { name: "alone", include: alone, exclude: [...configDefaults.exclude, ...storms], ...timeouts },
      },
      {
        resolve: { alias },
        test: { name: "storms", include: storms, ...timeouts },
      },
    ],
  },
});
