// Bundles the doors into dist: what they share lies in few files instead of hundreds, which is most of the time that an import takes.
// Everything lies two folders deep, as in src, so that paths to files of the package are the same in both.
//
// node scripts/bundle.mjs [FOLDER]   into this folder instead

import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { bundling } from "./bundling.mjs";
import { noticeOf } from "./licences.mjs";

const root = new URL("../", import.meta.url);
const { exports, bin } = JSON.parse(await readFile(new URL("package.json", root), "utf8"));
const doors = [...Object.values(exports), ...Object.values(bin)].filter((file) => file.startsWith("./dist/"));
// Not doors: what the benchmarks measure from inside.
const inside = [
  "sandbox/local",
  "server/listen",
  "store/sqlite-index",
  "testing/hash-embedder",
  ...["checkouts", "objects", "tree"].map((name) => `workspace/${name}`),
];
const names = [...doors.map((file) => file.slice("./dist/".length, -".js".length)), ...inside];
const folder = resolve(process.argv[2] ?? fileURLToPath(new URL("dist", root)));

// Two files hold what nearly everybody loads: what runs in browsers too, and the rest of what the root door needs at once.
const neutral = await needed("src/client/client.ts");
const core = await needed("src/index.ts");
const bundle = await rolldown({
  ...bundling,
  preserveEntrySignatures: "allow-extension",
  input: Object.fromEntries(names.map((name) => [name.includes("/") ? name : `chunks/${name}`, `src/${name}.ts`])),
});
const { output } = await bundle.write({
  ...{ dir: folder, format: "esm", minify: false, chunkFileNames: "chunks/[name].js" },
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      { name: "neutral", test: (id) => neutral.has(id) && core.has(id) },
      { name: "core", test: (id) => core.has(id) },
    ],
  },
});

/** The modules that are loaded with this one: all that it imports, so that no file of the bundle needs one that needs it. */
async function needed(input) {
  const { output } = await (await rolldown({ ...bundling, input, treeshake: false })).generate({ format: "esm" });
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const entry = output.find(({ isEntry }) => isEntry);
  const seen = new Set([entry]);
  for (const chunk of seen) for (const name of chunk.imports) if (chunks.has(name)) seen.add(chunks.get(name));
  return new Set([...seen].flatMap(({ moduleIds }) => moduleIds));
}

for (const name of names.filter((one) => !one.includes("/")))
  await writeFile(join(folder, `${name}.js`), `export * from "./chunks/${name}.js";\n`);
// The one file that is a process of its own.
await mkdir(join(folder, "workspace"), { recursive: true });
await copyFile(new URL("src/workspace/spawner-process.mjs", root), join(folder, "workspace/spawner-process.mjs"));

// What others wrote and lies in these files. The inspector lists its packages itself, but not the helpers that its bundlers add.
const helpers = output.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => /^\0(@?[^@/]+)(?:@([^/]+))?/.exec(id))).filter(Boolean);
const foreign = new Map([["rolldown"], ["vite"], ...helpers.map(([, name, version]) => [name.replace("+", "/"), version])]);
await writeFile(
  join(folder, "THIRD-PARTY.md"),
  ["# Licences\n", ...[...foreign].sort().map(([name, version]) => noticeOf(name, version))].join("\n"),
);
