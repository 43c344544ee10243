/** The tutorial is typed as a reader would type it, in an empty folder; what the page shows is what is printed, but for ids and times. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import type { Typed } from "./typed.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tsx = join(root, "node_modules/tsx/dist/loader.mjs");
const environment = {
  ...process.env,
  TSX_TSCONFIG_PATH: join(root, "tsconfig.json"),
  NO_COLOR: "1",
  LANG: "C.UTF-8",
  OPENRATH_HOME: undefined,
};
const folder = await realpath(await mkdtemp(join(tmpdir(), "openrath-tutorial-")));
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Step {
  readonly command: string;
  /** What the page says that the last command before it prints. */
  readonly shown: string | undefined;
}

async function stepsOf(page: string): Promise<readonly Step[]> {
  const fences = [...(await readFile(page, "utf8")).matchAll(/```(sh|text)\n(.*?)```/gs)].map(([, kind, text = ""]) => ({ kind, text }));
  return fences.flatMap(({ kind, text }, index) => {
    if (kind === "text") return [];
    const next = fences[index + 1];
    const commands = text.trim().split("\n");
    return commands.map((command, place) => ({
      command,
      shown: next?.kind === "text" && place === commands.length - 1 ? next.text : undefined,
    }));
  });
}

/** Ids, hashes and times differ each time, and so do the widths of columns. */
function lasting(text: string): readonly string[] {
  const plain = text
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{1,4})*\b/g, "ID")
    .replace(/\b[0-9a-f]{12}\b/g, "HASH")
    .replace(/\b\d+(\.\d+)? m?s\b/g, "TIME");
  return plain
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/ +/g, " ").trimEnd());
}

/** Words of a command, without the quotes around them. */
function words(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
}

let cwd = folder;
let names: Readonly<Record<string, string>> = {};

async function typed(commands: readonly (readonly string[])[]): Promise<readonly Typed[]> {
  const given = Object.entries(names).map(([name, value]) => `${name}=${value}`);
  const program = [join(root, "test/docs/typed.ts"), JSON.stringify(commands), ...given];
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", tsx, ...program], { cwd, env: environment });
  const results = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Typed);
  names = results.at(-1)?.names ?? names;
  return results;
}

/** openrath dev serves until it is told to stop: the page it prints a link to is there. */
async function served(argv: readonly string[]): Promise<void> {
  const child: ChildProcess = spawn(
    process.execPath,
    ["--import", tsx, join(root, "src/cli/main.ts"), ...argv, "--no-open", "--port", "0"],
    { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] },
  );
  const ended = once(child, "close");
  const link = await new Promise<string>((resolve, reject) => {
    let text = "";
    const hear = (chunk: Buffer): void => {
      text += chunk.toString();
      const [url] = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.on("close", () => reject(new Error(`openrath dev ended: ${text}`)));
  });
  try {
    const response = await fetch(new URL("/v1/health", link));
    expect(response.status).toBe(200);
  } finally {
    child.kill("SIGINT");
    await ended;
  }
}

test("every command of the tutorial works and prints what the page shows", async () => {
  const steps = await stepsOf(join(root, "docs/tutorial/index.md"));
  expect(steps.length).toBeGreaterThan(12);
  let batch: Step[] = [];
  const compared: string[] = [];
  // A process is needed only where code changed: the commands between are executed by one.
  const flush = async (): Promise<void> => {
    const results = batch.length === 0 ? [] : await typed(batch.map(({ command }) => words(command).slice(2)));
    for (const [index, { text, exit }] of results.entries()) {
      const { command, shown } = batch[index] as Step;
      expect.soft({ command, exit, text }).toMatchObject({ exit: shown?.startsWith("diverged") ? 4 : 0 });
      if (shown === undefined) continue;
      expect(lasting(text), command).toEqual(lasting(shown));
      compared.push(command);
    }
    batch = [];
  };
  for (const step of steps) {
    const [program, verb, ...rest] = words(step.command);
    if (program === "npx" && verb === "openrath" && rest[0] !== "dev") {
      batch.push(step);
      continue;
    }
    await flush();
    if (program === "cd") cwd = join(cwd, verb ?? "");
    // What npm would install is here already.
    else if (step.command === "npm install") await symlink(join(root, "node_modules"), join(cwd, "node_modules"));
    else if (rest[0] === "dev") await served(rest);
    else await promisify(execFile)("sh", ["-c", step.command], { cwd });
  }
  await flush();
  expect(compared.length).toBeGreaterThanOrEqual(7);
}, 120_000);
