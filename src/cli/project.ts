/**
 * The project a command works on. `openrath.config.ts`, found from the current folder upwards, exports `rath`; without one it is
 * `openrath()`. Where that file names no store, it is the one at `OPENRATH_STORE`, else in `.openrath/`. There is no other project file.
 */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Rath } from "../runtime/rath.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { exits, Fault } from "./fault.ts";
import { strangerOf } from "./foreign.ts";
import { shellWord } from "./shell-word.ts";
import type { Host } from "./terminal.ts";

export interface Project {
  readonly rath: Rath;
  readonly runtime: Runtime;
  /** What `openrath({ workflows })` names. */
  readonly workflows: Readonly<Record<string, Workflow>>;
  /** The project file it comes from. */
  readonly config: string | undefined;
}

export interface OpenOptions {
  /** The project file that was named. */
  readonly config?: string | undefined;
  /** Make a store where there is none. */
  readonly make?: boolean | undefined;
  /** The address of a store, instead of any project file's. */
  readonly store?: string | undefined;
}
export type Open = (host: Host, options: OpenOptions) => Promise<Project>;

const names = ["openrath.config.ts", "openrath.config.mts", "openrath.config.js", "openrath.config.mjs"];

/** The nearest project file, from a folder upwards; refused where it is somebody else's. */
export function findConfig(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const found = names.map((name) => join(folder, name)).find((file) => existsSync(file));
    const stranger = found === undefined ? undefined : strangerOf(found, from);
    if (found !== undefined && stranger !== undefined) throw foreign(found, stranger, from);
    if (found !== undefined || dirname(folder) === folder) return found;
  }
}

/** The project file a call names, or the nearest one. */
export function configOf(given: string | undefined, cwd: string): string | undefined {
  return given === undefined ? findConfig(cwd) : resolve(cwd, given);
}

export const openProject: Open = async ({ cwd, env, err }, { config: named, make, store: given }) => {
  const config = given === undefined ? configOf(named, cwd) : undefined;
  const address = given ?? env["OPENRATH_STORE"] ?? "";
  const store = storeAddress(address, cwd);
  if (config === undefined && store !== "") {
    if (make !== true && isPath(store) && !existsSync(store)) throw missing(store);
    const { openrath } = await import("../openrath.ts");
    return projectOf(openrath({ store }), undefined);
  }
  if (config === undefined) {
    const named = env["OPENRATH_HOME"];
    const home = resolve(cwd, named ?? ".openrath");
    if (make !== true && !existsSync(home)) throw named === undefined ? homeless(cwd) : noHome(home, cwd);
    const { openrath } = await import("../openrath.ts");
    return projectOf(openrath(), undefined);
  }
  if (!existsSync(config)) throw new Fault(exits.notFound, `There is no file ${config}: --config names the file that exports rath.`);
  // What the environment names means the folder in which the command is called.
  if (store !== "") process.env["OPENRATH_STORE"] = store;
  // Relative paths in it mean its own folder, wherever the command is called from. A file named by hand is taken as it stands.
  if (named === undefined && process.cwd() !== dirname(config)) process.chdir(dirname(config));
  const { importFile } = await import("./import-file.ts");
  const { rath } = (await importFile(config)) as { readonly rath?: unknown };
  if (!isRath(rath)) throw new Fault(exits.invalid, `${config} exports no rath: write export const rath = openrath({ workflows: { … } }).`);
  if (store !== "") await warnOfAnother(rath, { config, store, err });
  return projectOf(rath, config);
};

/** Whoever set the variable must not think that their work is in the store that it names. */
async function warnOfAnother(
  rath: Rath,
  { config, store, err }: { readonly config: string; readonly store: string } & Pick<Host, "err">,
): Promise<void> {
  const { storeNamedBy } = await import("../runtime/named-store.ts");
  const named = storeNamedBy(rath);
  if (named === undefined || named === store) return;
  const [{ placeNamed }, { neutral }] = await Promise.all([import("./store-place.ts"), import("../wire/neutral.ts")]);
  const [used, instead] = [placeNamed(named), placeNamed(store)];
  if (used !== instead && !used.startsWith(`${instead}, `))
    err.write(neutral(`warning: the store is ${used}, which ${config} names; OPENRATH_STORE names ${instead} and is not used\n`));
}

/** A path means the folder in which the command is called. */
export function storeAddress(address: string, cwd: string): string {
  return isPath(address) ? resolve(cwd, address) : address;
}

function isPath(address: string): boolean {
  return address !== "" && address !== "memory" && address !== ":memory:" && !/^(?:[a-z]+:\/\/|sqlite:|file:)/.test(address);
}

function foreign(config: string, uid: number, cwd: string): Fault {
  return new Fault(
    exits.notAllowed,
    `${config}, found above ${cwd}, belongs to another user (uid ${uid}): it is not executed, since its code would run with your rights.`,
    { next: `openrath --config ${shellWord(config)} …, if you trust that user; else make a project of your own here: openrath init` },
  );
}

function homeless(cwd: string): Fault {
  return new Fault(
    exits.notFound,
    `There are no sessions here: ${cwd} has no openrath.config.ts (or .mts, .js, .mjs) and no .openrath folder.`,
    { next: "openrath init, or go to the folder of a project" },
  );
}

function noHome(home: string, cwd: string): Fault {
  return new Fault(
    exits.notFound,
    `There are no sessions here: OPENRATH_HOME names ${home}, which is not there, and ${cwd} has no openrath.config.ts (or .mts, .js, .mjs).`,
    { next: "correct OPENRATH_HOME or unset it" },
  );
}

function missing(store: string): Fault {
  return new Fault(exits.notFound, `There is no store at ${store}.`, { next: "openrath run makes one" });
}

export async function projectOf(rath: Rath, config: string | undefined): Promise<Project> {
  const { runtimeOf } = await import("../runtime/replay.ts");
  const runtime = runtimeOf(rath.session());
  return { rath, runtime, workflows: runtime.workflows as Readonly<Record<string, Workflow>>, config };
}

function isRath(value: unknown): value is Rath {
  const rath = value as Partial<Record<keyof Rath, unknown>> | undefined | null;
  return typeof rath === "object" && rath !== null && typeof rath.open === "function" && typeof rath.session === "function";
}
