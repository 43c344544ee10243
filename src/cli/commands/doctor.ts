/** `openrath doctor`: what works on this machine, and what to do about the rest. Names of keys are shown, never their values. */
import type { Stats } from "node:fs";
import { access, constants, mkdtemp, readFile, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { version } from "../../runtime/version.ts";
import { size } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { accessOf, type Database } from "../databases.ts";
import { exits, Fault } from "../fault.ts";
import { type Finding, hasPackage } from "../finding.ts";
import { typescriptBy } from "../import-file.ts";
import { printList } from "../print-list.ts";
import { findConfig } from "../project.ts";
import { sandboxFindings } from "../sandbox-findings.ts";
import { show } from "../shown.ts";

/** What each provider of models needs of the environment, each time one of several names, and its package. */
const providers: readonly { readonly name: string; readonly needs: readonly (readonly string[])[]; readonly package: string }[] = [
  { name: "openai", needs: [["OPENAI_API_KEY"]], package: "@ai-sdk/openai" },
  { name: "anthropic", needs: [["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]], package: "@ai-sdk/anthropic" },
  { name: "google", needs: [["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"]], package: "@ai-sdk/google" },
  { name: "azure", needs: [["AZURE_API_KEY"], ["AZURE_RESOURCE_NAME", "AZURE_BASE_URL"]], package: "@ai-sdk/azure" },
];

export function define(command: Command, cli: Cli): void {
  command
    .summary("say what works on this machine")
    .description(
      "Checks Node, the SQLite driver, the store, the disk it is on, the access keys, the signing key, the keys and packages of models, and the sandboxes. Exit 1 when something is broken.",
    )
    .action(() => doctor(cli));
}

async function doctor(cli: Cli): Promise<void> {
  const { config, project } = projectFinding(cli);
  const home = resolve(config === undefined ? cli.host.cwd : resolve(config, ".."), cli.host.env["OPENRATH_HOME"] ?? ".openrath");
  const key = await keyFile(cli, home);
  const findings: Finding[] = [
    { check: "openrath", status: "ok", detail: `version ${version()}` },
    node(config ?? join(cli.host.cwd, "openrath.config.ts")),
    await driver(),
    project,
    await homeOf(home),
    await diskOf(dirname(key)),
    await signingKey(key),
    ...(await store(cli)),
    ...providers.map((provider) => model(cli, provider, config)),
    ...(await sandboxFindings(cli, config, home)),
  ];
  if (findings.some((finding) => finding.status === "fail")) cli.exit = exits.error;
  const paint = { ok: cli.ink.green, warn: cli.ink.yellow, fail: cli.ink.red, none: cli.ink.dim };
  printList(cli, findings, {
    columns: [
      { name: "CHECK", cell: ({ check }) => check },
      { name: "STATUS", cell: ({ status }) => paint[status](status === "none" ? "-" : status), plain: ({ status }) => status },
      {
        name: "DETAIL",
        cell: ({ detail, fix }) => (fix === undefined ? detail : `${detail} (${fix})`),
        plain: ({ detail }) => detail,
      },
    ],
    data: ({ check, status, detail, fix }) => ({ check, status, detail, fix: fix ?? null }),
    empty: show``,
  });
  for (const { status, check, detail, fix } of findings) if (status === "fail") cli.warn(show`${cli.errInk.red(check)}: ${fix ?? detail}`);
}

function projectFinding(cli: Cli): { readonly config: string | undefined; readonly project: Finding } {
  const check = "project";
  try {
    const config = cli.settings.config ?? findConfig(cli.host.cwd);
    if (config !== undefined) return { config, project: { check, status: "ok", detail: config } };
    return { config, project: { check, status: "none", detail: "no openrath.config.ts here or above", fix: "openrath init" } };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { config: undefined, project: { check, status: "fail", detail: error.message, fix: error.next } };
  }
}

function node(config: string): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > 20 || (major === 20 && minor >= 19);
  const reader = { Node: "TypeScript by itself", tsx: "TypeScript through tsx", none: "JavaScript only" }[typescriptBy(config) ?? "none"];
  const detail = `${process.versions.node}, ${reader}`;
  if (!fits) return { check: "node", status: "fail", detail, fix: "use Node 20.19 or newer" };
  return { check: "node", status: "ok", detail, fix: typescriptBy(config) === undefined ? "npm install --save-dev tsx" : undefined };
}

async function driver(): Promise<Finding> {
  const check = "sqlite";
  try {
    const { sqliteStore } = await import("../../store/sqlite.ts");
    const folder = await mkdtemp(join(tmpdir(), "openrath-doctor-"));
    try {
      await using probe = sqliteStore(join(folder, "store.db"));
      for await (const _ of probe.sessions({})) break;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return { check, status: "ok", detail: "a driver is there" };
  } catch (error) {
    return { check, status: "fail", detail: (error as Error).message };
  }
}

async function homeOf(home: string): Promise<Finding> {
  const found = await look(home);
  if (found === undefined) return { check: "home", status: "none", detail: `${home} is not there yet: the first session makes it` };
  if (found === "refused") return { check: "home", status: "fail", detail: `${home} cannot be reached: permission denied`, fix: ownHome };
  const open = (found.mode & 0o077) !== 0 && process.platform !== "win32";
  const writable = await access(home, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!writable && found.uid !== (process.getuid?.() ?? found.uid))
    return { check: "home", status: "fail", detail: `${home} belongs to another user (uid ${found.uid})`, fix: ownHome };
  return !writable
    ? { check: "home", status: "fail", detail: `${home} cannot be written`, fix: `chmod u+w ${home}` }
    : open
      ? { check: "home", status: "warn", detail: `${home} can be read by others`, fix: `chmod 700 ${home}` }
      : { check: "home", status: "ok", detail: `${home}, private` };
}

const leastRoom = 64 * 2 ** 20;
const scarceRoom = 2 ** 30;

/** Room where the store is, or the home: what does not fit is refused, and an erasure that cannot write the file anew stays open. */
async function diskOf(folder: string): Promise<Finding> {
  const check = "disk";
  const found = await statfs(folder).catch((error: NodeJS.ErrnoException) => error.code);
  if (found === "ENOENT" && folder !== dirname(folder)) return diskOf(dirname(folder));
  if (typeof found !== "object" || found.blocks === 0) return { check, status: "none", detail: `${folder} does not say how much is free` };
  const free = found.bavail * found.bsize;
  const status = free < leastRoom ? "fail" : free < scarceRoom ? "warn" : "ok";
  const fix = "make room: nothing can be stored on a full disk; openrath gc removes what nobody needs";
  return { check, status, detail: `${size(free)} free at ${folder}`, fix: status === "ok" ? undefined : fix };
}

const ownHome = "run as the user whose it is, or set OPENRATH_HOME to a folder of your own";

/** What is there; "refused" where this user may not look. */
async function look(path: string): Promise<Stats | "refused" | undefined> {
  return stat(path).catch((error: NodeJS.ErrnoException) => (error.code === "EACCES" ? "refused" : undefined));
}

/** Beside the file of a store; of another store, and of one that does not open, in the home. */
async function keyFile(cli: Cli, home: string): Promise<string> {
  const { storeNamedBy, storeOfEnvironment } = await import("../../runtime/named-store.ts");
  const named = await cli.project().then(
    ({ rath }) => storeNamedBy(rath) ?? storeOfEnvironment(),
    () => undefined,
  );
  const { storePathOf } = await import("../../store/sqlite-place.ts");
  const path = typeof named === "object" ? storePathOf(named) : named;
  return join(path === undefined || path.includes("://") ? home : dirname(resolve(path)), "signing-key.pem");
}

async function signingKey(file: string): Promise<Finding> {
  const check = "signing key";
  const found = await look(file);
  if (found === undefined) return { check, status: "none", detail: "made at the first run" };
  const unreadable: Finding = { check, status: "fail", detail: `${file} cannot be read: permission denied`, fix: ownHome };
  if (found === "refused") return unreadable;
  if ((found.mode & 0o077) !== 0 && process.platform !== "win32")
    return { check, status: "warn", detail: `${file} can be read by others`, fix: `chmod 600 ${file}` };
  const { Key } = await import("../../runtime/key.ts");
  const key = await readFile(file, "utf8")
    .then((pem) => new Key(pem).id)
    .catch((error: NodeJS.ErrnoException) => (error.code === "EACCES" ? unreadable : undefined));
  if (typeof key === "object") return key;
  return key === undefined
    ? {
        check,
        status: "fail",
        detail: `${file} is no ed25519 key in PEM`,
        fix: "put its copy back, or remove it: the next run makes another",
      }
    : { check, status: "ok", detail: `there, private; others verify with --key ${key}` };
}

/** Opened as commands open it, and every workflow asked whether its models and tools are there. A home that is not there yet is left so. */
async function store(cli: Cli): Promise<readonly Finding[]> {
  const check = "store";
  try {
    const { rath, runtime, workflows } = await cli.project();
    await rath.ready();
    const opens: Finding = { check, status: "ok", detail: "opens" };
    const keys = await Promise.all((await accessOf(cli, runtime)).map(keysFinding));
    return [
      opens,
      ...keys,
      ...(await Promise.all(Object.entries(workflows).map(([name, workflow]) => ready(name, () => rath.ready(workflow))))),
    ];
  } catch (error) {
    const { exit, message, next } = error as { readonly exit?: number; readonly message: string; readonly next?: string };
    if (exit === exits.notFound) return [{ check, status: "none", detail: "not there yet" }];
    return [{ check, status: "fail", detail: message, fix: next }];
  }
}

/** Where the keys of callers and the log of who came are: it is backed up with the store, and private as it is. */
async function keysFinding({ place, file, format }: Database): Promise<Finding> {
  const check = "access keys";
  if ((await format()) === undefined) return { check, status: "none", detail: `${place} is not there yet: the first key makes it` };
  const mode = file === undefined ? undefined : (await stat(file.path)).mode;
  if (mode !== undefined && (mode & 0o077) !== 0 && process.platform !== "win32")
    return { check, status: "warn", detail: `${place} can be read by others`, fix: `chmod 600 ${place}` };
  return { check, status: "ok", detail: file === undefined ? place : `${place}, private` };
}

async function ready(name: string, work: () => Promise<void>): Promise<Finding> {
  return work().then(
    (): Finding => ({ check: `workflow ${name}`, status: "ok", detail: "models and tools are there" }),
    (error: unknown): Finding => ({ check: `workflow ${name}`, status: "warn", detail: (error as Error).message }),
  );
}

function model(cli: Cli, provider: (typeof providers)[number], config: string | undefined): Finding {
  const { env, cwd } = cli.host;
  const check = `model ${provider.name}`;
  const setIn = (names: readonly string[]): string | undefined => names.find((name) => (env[name] ?? "") !== "");
  const missing = provider.needs.filter((names) => setIn(names) === undefined);
  const installed =
    hasPackage(provider.package, config ?? join(cwd, "openrath.config.ts")) || hasPackage(provider.package, import.meta.filename);
  const keys = provider.needs.map((names) => `${setIn(names) ?? names[0]} ${setIn(names) === undefined ? "not set" : "set"}`);
  const detail = `${keys.join(", ")}, ${provider.package} ${installed ? "installed" : "not installed"}`;
  if (missing.length === provider.needs.length) return { check, status: "none", detail };
  if (missing.length > 0) return { check, status: "warn", detail, fix: `set ${missing.map((names) => names.join(" or ")).join(", ")}` };
  return installed ? { check, status: "ok", detail } : { check, status: "warn", detail, fix: `npm install ${provider.package}` };
}
