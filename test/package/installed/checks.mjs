/** What must hold in a project that has the package, on one Node. Each check throws, or gives a line that says what was seen. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { printed, program } from "./readme.mjs";

/** A project is `{ folder, run, env }`: where it lies, and how a command line is run in it with this Node. */
export const checks = [
  ["every door can be imported", doors],
  ["the command line", commandLine],
  ["the README's example, twice", example],
  ["the project's own test", async (project) => /pass \d+/.exec(await project.run("npm test"))?.[0]],
  ["openrath serve has the inspector", served],
  ["openrath inspect has the inspector", inspected],
];

function manifestOf({ folder }) {
  return JSON.parse(readFileSync(join(folder, "node_modules/openrath/package.json"), "utf8"));
}

export function doorsOf(project) {
  const { exports } = manifestOf(project);
  return Object.keys(exports)
    .filter((door) => door !== "./package.json")
    .map((door) => `openrath${door.slice(1)}`);
}

async function doors(project) {
  const names = doorsOf(project);
  writeFileSync(join(project.folder, "doors.mjs"), importing);
  const alone = JSON.parse(await project.run(`node doors.mjs ${names.join(" ")}`));
  assert.deepEqual(
    Object.entries(alone).filter(([, value]) => typeof value === "string"),
    [],
  );
  // Suites for adapters are run by vitest, which whoever uses them has.
  writeFileSync(join(project.folder, "suite.test.mjs"), suite);
  assert.match(await project.run("node suite.test.mjs 2>&1 || true"), /need vitest.*npm install --save-dev vitest/);
  for (const peer of ["vitest", "fast-check"]) {
    const link = join(project.folder, "node_modules", peer);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(project.root, "node_modules", peer), link);
  }
  assert.match(await project.run("node node_modules/vitest/vitest.mjs run suite.test.mjs 2>&1"), /[1-9]\d* passed/);
  return `${names.length} doors; the suites of openrath/testing need vitest, and run with it`;
}

const suite = `
import { memoryStore } from "openrath/store/memory";
import { storeConformance } from "openrath/testing";
storeConformance({ name: "in memory", create: () => memoryStore() });
`;

const importing = `
const found = {};
for (const name of process.argv.slice(2))
  found[name] = await import(name).then((door) => Object.keys(door).length, (error) => error.message);
console.log(JSON.stringify(found));
`;

async function commandLine(project) {
  const { version } = manifestOf(project);
  assert.equal(await project.run("npx openrath --version"), `${version}\n`);
  const doctor = JSON.parse(await project.run("npx openrath doctor --json"));
  const bad = doctor.filter(({ status }) => status === "fail");
  assert.deepEqual(bad, []);
  assert.ok(doctor.length > 5);
  return `--version ${version}; doctor: ${doctor.length} findings, none failed`;
}

async function example(project) {
  writeFileSync(join(project.folder, "hello.ts"), program);
  const run = async () => (await project.run("npx tsx hello.ts")).trimEnd().split("\n");
  assert.deepEqual(await run(), printed);
  assert.deepEqual(await run(), printed);
  return printed.join(" | ");
}

async function served(project) {
  return withServer(project, ["serve", "--port", "0"], async (url) => {
    assert.equal((await (await get(new URL("v1/health", url))).json()).status, "ok");
    return pages(url);
  });
}

async function inspected(project) {
  const [session] = JSON.parse(await project.run("npx openrath ls --json"));
  assert.ok(session?.id, "openrath ls shows no session");
  return withServer(project, ["inspect", session.id, "--no-open"], (url) => pages(new URL("/", url)));
}

/** The page, and every file it names. */
async function pages(url) {
  const page = await (await get(url)).text();
  const files = [...page.matchAll(/(?:src|href)="(\.?\/?assets\/[^"]+)"/g)].map(([, file]) => file);
  assert.ok(files.length > 1, page);
  for (const file of files) assert.ok((await (await get(new URL(file, url))).arrayBuffer()).byteLength > 0, file);
  return `its page and ${files.length} files that the page names`;
}

async function get(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  assert.equal(answer.status, 200, String(url));
  return answer;
}

/** Starts a command that says where it listens, and ends it. */
async function withServer({ folder, env, node }, argv, use) {
  const child = spawn(node, [join(folder, "node_modules/openrath/dist/cli/main.js"), ...argv], { cwd: folder, env });
  const ended = new Promise((resolve) => child.on("close", resolve));
  try {
    return await use(await address(child, argv));
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

function address(child, argv) {
  return new Promise((resolve, reject) => {
    let written = "";
    const see = (chunk) => {
      written += chunk;
      const url = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(written)?.[0];
      if (url !== undefined) resolve(new URL(url));
    };
    child.stdout.on("data", see);
    child.stderr.on("data", see);
    child.on("close", (code) => reject(new Error(`openrath ${argv.join(" ")} ended with ${code}: ${written}`)));
    setTimeout(() => reject(new Error(`openrath ${argv.join(" ")} did not say where it listens: ${written}`)), 60_000).unref();
  });
}
