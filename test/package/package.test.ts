// The package as users get it: built, packed, unpacked into an empty project, and imported door by door. No network.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redactor } from "../../src/runtime/redact.ts";

interface Manifest {
  readonly name: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Manifest;
const doors = Object.keys(manifest.exports)
  .filter((door) => door !== "./package.json")
  .map((door) => manifest.name + door.slice(1));

let scratch = "";
let project = "";

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), "openrath-package-")));
  project = join(scratch, "project");
  await install(await pack(join(scratch, "stage")));
}, 180_000);

afterAll(() => rm(scratch, { recursive: true, force: true }));

describe("the packed package", () => {
  test("holds every file that its manifest names", () => {
    const named = [...Object.values(manifest.exports), ...Object.values(manifest.bin)];
    const missing = named.filter((file) => !existsSync(join(project, "node_modules", manifest.name, file)));
    expect(missing).toEqual([]);
  });

  test("no file of it imports a TypeScript file when it is asked for something", async () => {
    const dist = join(project, "node_modules", manifest.name, "dist");
    const files = (await readdir(dist, { recursive: true })).filter((file) => /\.m?js$/.test(file));
    const texts = await Promise.all(files.map(async (file) => ({ file, text: await readFile(join(dist, file), "utf8") })));
    const imports = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/\bimport\(\s*"(\.[^"]*)"/g)].map(([, name]) => `${file}: ${name}`),
    );
    expect(imports.length).toBeGreaterThan(50);
    expect(imports.filter((name) => /ts$/.test(name))).toEqual([]);
  });

  test("no file of it holds what looks like a key", async () => {
    const folder = join(project, "node_modules", manifest.name);
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const found = await Promise.all(
      files.map(async ({ parentPath, name }) => redactor().secretsIn?.(await readFile(join(parentPath, name), "latin1")) ?? []),
    );
    expect(found.length).toBeGreaterThan(100);
    expect(found.flat()).toEqual([]);
  });

  test.each(doors)("%s can be imported and prints nothing", async (door) => {
    const { stdout, stderr } = await node(["--input-type=module", "--eval", `await import(${JSON.stringify(door)})`]);
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "" });
  });

  test("the root door gives CommonJS users the same names", async () => {
    const list = "console.log(JSON.stringify(Object.keys(door).filter((name) => name !== '__esModule').sort()))";
    const asModule = await node(["--input-type=module", "--eval", `const door = await import("${manifest.name}"); ${list}`]);
    const asCommonJs = await node([
      "--no-warnings",
      "--input-type=commonjs",
      "--eval",
      `const door = require("${manifest.name}"); ${list}`,
    ]);
    expect(JSON.parse(asModule.stdout)).not.toEqual([]);
    expect(asCommonJs.stdout).toBe(asModule.stdout);
  });

  test("importing the root door loads neither a schema library nor a SQLite driver", async () => {
    const loaded = await trace(`await import("${manifest.name}")`);
    expect(loaded).toContain(manifest.name);
    expect(loaded.filter((specifier) => /^(zod|better-sqlite3|node:sqlite)(\/|$)/.test(specifier))).toEqual([]);
  });

  test("the trace sees imports and requires alike", async () => {
    const create = `(await import("node:module")).createRequire(${JSON.stringify(join(project, "main.js"))})`;
    expect(await trace(`await import("zod")`)).toContain("zod");
    expect(await trace(`${create}("zod")`)).toContain("zod");
    expect(await trace(`try { ${create}("better-sqlite3") } catch {}`)).toContain("better-sqlite3");
  });
});

/** Builds into a folder of its own, so that a stale or half-written dist never decides. Returns the tarball. */
async function pack(stage: string): Promise<string> {
  await mkdir(stage);
  const files = ["package.json", "README.md", "LICENSE", "CHANGELOG.md"].filter((file) => existsSync(join(root, file)));
  await Promise.all(files.map((file) => copyFile(join(root, file), join(stage, file))));
  await loud(process.execPath, [join(root, "scripts/bundle.mjs"), join(stage, "dist")], stage);
  await loud("npm", ["pack", "--ignore-scripts", "--offline", "--pack-destination", dirname(stage)], stage);
  const { version } = JSON.parse(await readFile(join(stage, "package.json"), "utf8")) as { readonly version: string };
  return join(dirname(stage), `${manifest.name}-${version}.tgz`);
}

/** Unpacks by hand and links the dependencies. Optional ones stay out: every door must open without them. */
async function install(tarball: string): Promise<void> {
  const target = join(project, "node_modules", manifest.name);
  await mkdir(target, { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "empty", private: true }));
  await loud("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"], project);
  // The door for tests needs the peers it runs suites with.
  for (const name of [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", name), link);
  }
  await writeFile(join(project, "hooks.mjs"), hooks);
  await writeFile(join(project, "preload.mjs"), preload);
}

/** Everything the program asks the module system for, by specifier. */
async function trace(program: string): Promise<readonly string[]> {
  const log = join(project, "trace.log");
  await rm(log, { force: true });
  await node(["--no-warnings", "--import", "./preload.mjs", "--input-type=module", "--eval", program], { TRACE_LOG: log });
  return (await readFile(log, "utf8")).trim().split("\n");
}

/** `module.register` sees import, a wrapped `Module._load` sees require. */
const hooks = `
import { appendFileSync } from "node:fs";
export function resolve(specifier, context, next) {
  appendFileSync(process.env.TRACE_LOG, specifier + "\\n");
  return next(specifier, context);
}
`;
const preload = `
import { appendFileSync } from "node:fs";
import Module, { register } from "node:module";
const load = Module._load;
Module._load = function (request, ...rest) {
  appendFileSync(process.env.TRACE_LOG, request + "\\n");
  return load.call(this, request, ...rest);
};
register("./hooks.mjs", import.meta.url);
`;

/** A plain node process in the empty project, without the options of the test runner's own process. */
function node(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, ...inherited } = process.env;
  return run(process.execPath, [...args], { cwd: project, env: { ...inherited, ...env }, timeout: 20_000 });
}

/** A failing command shows what it printed. */
async function loud(command: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await run(command, [...args], { cwd, timeout: 120_000 });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}
