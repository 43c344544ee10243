/** The composition root: options → Rath. The only file that names adapters, each imported when it is first needed. */
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Prices, priceOf } from "./model/prices.ts";
import { Key } from "./runtime/key.ts";
import { nodePlatform } from "./runtime/platform.ts";
import { type Rath, RathOnStore } from "./runtime/rath.ts";
import { redactor } from "./runtime/redact.ts";
import { Runs } from "./runtime/runs.ts";
import { Runtime, type RuntimeOptions } from "./runtime/runtime.ts";
import { newWorkerId } from "./runtime/worker-id.ts";
import { RathError } from "./session/errors.ts";
import type { Model, ModelLike } from "./session/model.ts";
import type { Store } from "./store/store.ts";
import { type Policy, Rules } from "./tool/policy.ts";
import type { Workflow } from "./workflow/workflow.ts";

/** Where adapters and workflows are named. */
export interface RathOptions {
  /** A path (SQLite), "memory", or any Store. Default: SQLite under `OPENRATH_HOME`, else `./.openrath/`. */
  readonly store?: Store | "memory" | (string & {}) | undefined;
  /** Names for models: aliases in production ("fast"), substitutes in tests ("openai/*": scripted(…)). */
  readonly models?: Readonly<Record<string, ModelLike>> | undefined;
  /** US dollars for a million tokens, for models whose price is not known or differs. */
  readonly prices?: Prices | undefined;
  /** Rules about tools: who may call what, how often, and when a person must say yes. */
  readonly policy?: Policy | readonly Policy[] | undefined;
  /** What can be started or resumed by name. */
  readonly workflows?: Readonly<Record<string, Workflow>> | undefined;
  /** Values that must never enter the log; well-known key shapes are found without being listed. */
  readonly secrets?: readonly string[] | undefined;
  /** "sync" (default): acknowledged when it is on disk. "relaxed": before; effects that may not be repeated are still synced. */
  readonly durability?: "sync" | "relaxed" | undefined;
  /** Live objects for effects, given again by whoever resumes; never stored. */
  readonly deps?: object | undefined;
  readonly project?: string | undefined;
  /** A second use of one value is a fork. "warn" (default) names the place; "error" refuses unlabelled ones. */
  readonly implicitForks?: "allow" | "warn" | "error" | undefined;
}

/**
 * Opens a runtime. Synchronous and lazy: nothing is touched before the first effect; `ready()` checks early.
 *
 * @example
 * await using rath = openrath();
 * const session = await rath.session("Hello").do("greet", () => "hi");
 * console.log(session.output); // "hi", and it is on disk
 */
export function openrath(options: RathOptions = {}): Rath {
  return composeRath(options, {});
}

/** What tests replace: the clock, chance, times and who we are. */
export type Internals = Partial<Pick<RuntimeOptions, "platform" | "openKey">> & {
  readonly times?: Partial<RuntimeOptions["times"]>;
  readonly worker?: string;
};

export function composeRath(options: RathOptions, internals: Internals): Rath {
  checkOptions(options);
  const runtime = new Runtime({
    platform: internals.platform ?? nodePlatform,
    redact: redactor(options.secrets),
    openStore: opening(options),
    openKey: internals.openKey ?? (() => openKey(options)),
    deps: options.deps ?? {},
    relaxed: options.durability === "relaxed",
    implicitForks: options.implicitForks ?? "warn",
    workflows: options.workflows ?? {},
    models: resolving(options.models),
    prices: (model, input) => priceOf(model, options.prices, input),
    rules: new Rules(options.policy),
    times: { stillResumeMs: 5000, stillReplayMs: 100, parkGraceMs: 20, closeMs: 1000, leaseMs: 30_000, remindMs: 3000, ...internals.times },
  });
  const runs = new Runs(runtime, options.workflows ?? {}, internals.worker ?? newWorkerId());
  return new RathOnStore(runtime, runs, async (host, source) => {
    const { importBundle } = await import("./audit/export/bundle.ts");
    return importBundle(host, source);
  });
}

/** Every option there is: one that is misspelt would be ignored in silence, and another store be written. */
const known: Readonly<Record<keyof RathOptions, true>> = {
  store: true,
  models: true,
  prices: true,
  policy: true,
  workflows: true,
  secrets: true,
  durability: true,
  deps: true,
  project: true,
  implicitForks: true,
};

function checkOptions(options: RathOptions): void {
  const extra = Object.keys(options).find((option) => !Object.hasOwn(known, option));
  if (extra !== undefined)
    throw new RathError("value.unsupported", `openrath() has no option "${extra}". There are: ${Object.keys(known).join(", ")}.`, {
      details: { field: extra },
    });
  oneOf("durability", options.durability, ["sync", "relaxed"]);
  oneOf("implicitForks", options.implicitForks, ["allow", "warn", "error"]);
  for (const [name, workflow] of Object.entries<unknown>(options.workflows ?? {})) {
    if (typeof (workflow as Partial<Workflow> | null | undefined)?.forward === "function") continue;
    throw new RathError(
      "workflow.invalid",
      `workflows.${name} is no workflow: give an Agent, or an instance of a class that extends Workflow.`,
      {
        details: { workflow: name },
      },
    );
  }
}

function oneOf(option: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value as string)) return;
  throw new RathError("value.unsupported", `${option} is ${JSON.stringify(value)}: use one of ${allowed.join(", ")}.`, {
    details: { field: option },
  });
}

function home(): string {
  return resolve(process.env["OPENRATH_HOME"] ?? ".openrath");
}

/** A file may be read again after its Rath was closed; what was in memory is gone then. */
function opening(options: RathOptions): () => Promise<Store> {
  let opened = false;
  return () => {
    if (options.store !== "memory" || !opened) {
      opened = true;
      return openStore(options);
    }
    const problem = "This Rath was closed, and what its store in memory held with it: use it before, or give the store a file.";
    return Promise.reject(new RathError("rath.closed", problem));
  };
}

async function openStore(options: RathOptions): Promise<Store> {
  const { store } = options;
  if (typeof store === "object") return store;
  if (store === ":memory:") throw new RathError("store.unavailable", 'A store in memory is called "memory" here, not ":memory:".');
  if (store === "memory") return (await import("./store/memory.ts")).memoryStore();
  if (store !== undefined && /^[a-z]+:\/\//.test(store)) {
    throw new RathError(
      "store.unavailable",
      `There is no store for "${store.slice(0, store.indexOf(":"))}://…" yet: use a file path or "memory".`,
    );
  }
  const path = store ?? join(await makeHome(), "store.db");
  if (await isFolder(path))
    throw new RathError("store.unavailable", `${path} is a folder: name a file in it, like ${join(path, "store.db")}.`);
  const { sqliteStore } = await import("./store/sqlite.ts");
  return sqliteStore(path, {
    ...(options.project === undefined ? {} : { project: options.project }),
    ...(options.durability === undefined ? {} : { durability: options.durability }),
  });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Private to its owner, and kept out of repositories by itself. */
async function makeHome(folder = home()): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  await writeFile(join(folder, ".gitignore"), "*\n", { flag: "wx" }).catch(ignoreExisting);
  return folder;
}

/** Beside the store it signs for; made at first use, readable by its owner alone. A store in memory gets a key of its own. */
async function openKey(options: RathOptions): Promise<Key> {
  if (typeof options.store === "object" || options.store === "memory") return new Key(undefined);
  const folder = options.store === undefined ? await makeHome() : dirname(resolve(options.store));
  const file = join(folder, "signing-key.pem");
  const key = new Key(undefined);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, key.pem, { flag: "wx", mode: 0o600 }).catch(ignoreExisting);
  return new Key(await readFile(file, "utf8"));
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/** Models are resolved by code that is loaded when the first one is asked. */
function resolving(models: RathOptions["models"]): (like: ModelLike) => Promise<Model> {
  let resolve: ((like: ModelLike) => Promise<Model>) | undefined;
  return async (like) => {
    resolve ??= (await import("./model/resolve.ts")).modelResolver(models);
    return resolve(like);
  };
}
