/** The composition root: options → Rath. The only file that names adapters, each imported when it is first needed. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, parse, resolve } from "node:path";
import type { AccessStore, Scope } from "./access/access.ts";
import type { MemoryStore } from "./memory/memory.ts";
import { priceOf } from "./model/prices.ts";
import { windowOf } from "./model/windows.ts";
import { checkOptions, type RathOptions } from "./rath-options.ts";
import { home, makeHome } from "./runtime/home.ts";
import { Key } from "./runtime/key.ts";
import { nameStore, storeOfEnvironment } from "./runtime/named-store.ts";
import { nodePlatform, onClock } from "./runtime/platform.ts";
import { type Rath, RathOnStore } from "./runtime/rath.ts";
import { RathMemory } from "./runtime/rath-memory.ts";
import { redactor } from "./runtime/redact.ts";
import { Runs } from "./runtime/runs.ts";
import { Runtime } from "./runtime/runtime.ts";
import type { RuntimeOptions } from "./runtime/runtime-options.ts";
import type { Places } from "./runtime/sandboxes.ts";
import { signingKeyIn } from "./runtime/signing-key.ts";
import { type Tenancy, tenanted } from "./runtime/tenancy.ts";
import { indexedBy } from "./runtime/text-index.ts";
import { newWorkerId } from "./runtime/worker-id.ts";
import type { SandboxBackend } from "./sandbox/sandbox.ts";
import { RathError } from "./session/errors.ts";
import type { Redact } from "./session/json.ts";
import type { Model, ModelLike } from "./session/model.ts";
import type { PostgresPool } from "./store/postgres.ts";
import { storePathOf, storeScopeOf } from "./store/sqlite-place.ts";
import type { Store } from "./store/store.ts";
import type { TextIndex } from "./store/text-index.ts";
import { Rules } from "./tool/policy.ts";
import type { Checkouts } from "./workspace/checkout.ts";

/**
 * Opens a runtime. Synchronous and lazy: nothing is touched before the first effect; `ready()` checks early.
 *
 * @example
 * await using rath = openrath();
 * const session = await rath.session("Hello").do("greet", () => "hi");
 * console.log(session.output); // "hi", and it is on disk
 */
export function openrath(options: RathOptions = {}): Rath {
  return nameStore(composeRath({ ...options, store: options.store ?? storeOfEnvironment() }, {}), options.store);
}

const times: RuntimeOptions["times"] = {
  stillResumeMs: 5000,
  stillReplayMs: 100,
  parkGraceMs: 20,
  closeMs: 1000,
  leaseMs: 5000,
  lookMs: 500,
  remindMs: 3000,
  deaths: 20,
};

/** What tests replace: the clock, chance, times and who we are. And what Raths of one server share. */
export type Internals = Partial<Pick<RuntimeOptions, "platform" | "openKey">> & {
  readonly times?: Partial<RuntimeOptions["times"]>;
  readonly worker?: string;
  /** The connections to a database that this Rath has together with others. */
  readonly share?: (url: string) => Promise<PostgresPool>;
};

export function composeRath(options: RathOptions, internals: Internals): Rath {
  checkOptions(options);
  const redact = redactor(options.secrets);
  const clock = { skewMs: 0 };
  const runtime = new Runtime({
    platform: internals.platform ?? (isPostgres(options.store) ? onClock(nodePlatform, clock) : nodePlatform),
    redact,
    openStore: opening(options, clock, internals),
    openKey: internals.openKey ?? (() => openKey(options)),
    deps: options.deps ?? {},
    relaxed: options.durability === "relaxed",
    implicitForks: options.implicitForks ?? "warn",
    workflows: options.workflows ?? {},
    models: resolving(options.models),
    prices: (model, input) => priceOf(model, options.prices, input),
    windows: (like) => windowOf(like, options.models),
    rules: new Rules(options.policy),
    places: placesFor(options, redact),
    telemetry: options.telemetry,
    openMemory: () => openMemory(options, internals),
    embedder: async (like) => (await import("./model/ai-sdk-embedding.ts")).resolveEmbedder(like),
    times: { ...times, ...internals.times },
  });
  indexedBy(runtime, () => openIndex(options));
  const runs = new Runs(runtime, options.workflows ?? {}, internals.worker ?? newWorkerId());
  tenanted(runtime, tenancyFor(options, internals, runs));
  const importing = async (host: Runtime, ...[source, { placed } = {}]: Parameters<Rath["import"]>) => {
    const { importSessions } = await import("./audit/import/import.ts");
    return (await importSessions(host, source, { placed })).session;
  };
  const memory = new RathMemory(runtime, async (host, item, options) => {
    const { whyMemory } = await import("./audit/why.ts");
    return whyMemory(host, item, options);
  });
  return new RathOnStore(runtime, runs, importing, memory);
}

function tenancyFor(options: RathOptions, internals: Internals, runs: Runs): Tenancy {
  const { store } = options;
  const named = typeof store !== "object" && store !== "memory";
  let access: Promise<AccessStore> | undefined;
  let pool: Promise<PostgresPool> | undefined;
  return {
    scope: scopeOf(options),
    openAccess: async () => {
      const opened = await openAccess(options);
      if (opened !== undefined) return opened;
      access ??= import("./access/volatile.ts").then(({ volatileAccess }) => volatileAccess());
      return access;
    },
    isBusy: () => runs.busy,
    open: (scope) => {
      if (!named) return undefined;
      // However many projects are open, they have so many connections together.
      const share = async (url: string): Promise<PostgresPool> => {
        pool ??= import("./store/postgres-pool.ts").then(({ sharedPool }) => sharedPool(url));
        return pool;
      };
      return composeRath({ ...options, ...scope }, { ...internals, share });
    },
  };
}

/** A file may be read again after its Rath was closed; what was in memory is gone then. */
function opening(options: RathOptions, clock: { skewMs: number }, internals: Internals): () => Promise<Store> {
  let opened = false;
  return () => {
    if (options.store !== "memory" || !opened) {
      opened = true;
      return openStore(options, clock, internals);
    }
    const problem = "This Rath was closed, and what its store in memory held with it: use it before, or give the store a file.";
    return Promise.reject(new RathError("rath.closed", problem));
  };
}

async function openStore(options: RathOptions, clock: { skewMs: number }, { share }: Internals): Promise<Store> {
  const { store } = options;
  if (typeof store === "object") return store;
  if (store === ":memory:") throw new RathError("store.unavailable", 'A store in memory is called "memory" here, not ":memory:".');
  if (store === "memory") return (await import("./store/memory.ts")).memoryStore();
  const opened = { ...scopeOf(options), durability: options.durability };
  if (isPostgres(store)) return (await import("./store/postgres.ts")).postgresStore((await share?.(store)) ?? store, { ...opened, clock });
  const [scheme] = /^(?:[a-z]+:\/\/|sqlite:|file:)/.exec(store ?? "") ?? [];
  if (scheme !== undefined) {
    const problem = `There is no store for "${scheme}…": give the path of a file itself, "postgres://…" or "memory".`;
    throw new RathError("store.unavailable", problem);
  }
  const path = store ?? join(await makeHome(), "store.db");
  if (await isFolder(path))
    throw new RathError("store.unavailable", `${path} is a folder: name a file in it, like ${join(path, "store.db")}.`);
  const { sqliteStore } = await import("./store/sqlite.ts");
  return sqliteStore(path, opened);
}

function isPostgres(store: RathOptions["store"]): store is `postgres${string}` {
  return typeof store === "string" && /^postgres(?:ql)?:\/\//.test(store);
}

/** Whose data it is. */
function scopeOf({ tenant = "default", project = "default" }: RathOptions): Scope {
  return { tenant, project };
}

/** Beside the store: keys and the access log, of all tenants and projects in it. Undefined where the store keeps nothing, or nobody knows where. */
async function openAccess({ store }: RathOptions): Promise<AccessStore | undefined> {
  if (store === "memory") return undefined;
  if (typeof store === "object") return accessOf(store);
  if (isPostgres(store)) return (await import("./access/postgres.ts")).postgresAccess(store, { max: 4 });
  const path = store ?? join(await makeHome(), "store.db");
  return (await import("./access/sqlite.ts")).sqliteAccess(accessBeside(path));
}

async function accessOf(store: Store): Promise<AccessStore | undefined> {
  const file = storePathOf(store);
  if (file !== undefined) return (await import("./access/sqlite.ts")).sqliteAccess(accessBeside(file));
  const { url, schema } = (await import("./store/postgres-upkeep.ts")).storeTablesOf(store) ?? {};
  return url === undefined ? undefined : (await import("./access/postgres.ts")).postgresAccess(url, { schema, max: 4 });
}

/** Where the keys of a store in a file are. */
export function accessBeside(path: string): string {
  return join(dirname(path), `${parse(path).name}.access.db`);
}

/** Beside the store: what was remembered is there again in the next process. */
async function openMemory(options: RathOptions, { share }: Internals): Promise<MemoryStore> {
  const { memory, store } = options;
  if (memory !== undefined) return memory;
  const known = typeof store === "object" ? await memoryOf(store) : undefined;
  if (known !== undefined) return known;
  if (store === "memory" || typeof store === "object") return (await import("./memory/volatile.ts")).volatileMemory();
  // In the same database. As a path its URL would name a file, with the password in it.
  if (isPostgres(store)) return (await import("./memory/postgres.ts")).postgresMemory((await share?.(store)) ?? store, scopeOf(options));
  const path = store ?? join(await makeHome(), "store.db");
  const { sqliteMemory } = await import("./memory/sqlite.ts");
  return sqliteMemory(memoryBeside(path), scopeOf(options));
}

/** Of a store that `sqliteStore` or `postgresStore` made, where it would be had the store been named. */
async function memoryOf(store: Store): Promise<MemoryStore | undefined> {
  const file = storePathOf(store);
  if (file !== undefined) return (await import("./memory/sqlite.ts")).sqliteMemory(memoryBeside(file), storeScopeOf(store));
  const { source, options } = (await import("./store/postgres-upkeep.ts")).storeTablesOf(store) ?? {};
  if (source === undefined) return undefined;
  const { tenant, project, schema, migrate, max, patienceMs } = options ?? {};
  return (await import("./memory/postgres.ts")).postgresMemory(source, { tenant, project, schema, migrate, max, patienceMs });
}

/** Where the memory of a store in a file is. */
export function memoryBeside(path: string): string {
  return join(dirname(path), `${parse(path).name}.memory.db`);
}

/** Beside the store; for a database under this machine's home. A store in memory, and one nobody can name, has none. */
async function openIndex(options: RathOptions): Promise<TextIndex | undefined> {
  const path = await indexPath(options.store);
  if (path === undefined) return undefined;
  const { sqliteIndex } = await import("./store/sqlite-index.ts");
  return sqliteIndex(path, scopeOf(options));
}

async function indexPath(store: RathOptions["store"]): Promise<string | undefined> {
  if (store === "memory") return undefined;
  if (typeof store === "object") {
    const file = storePathOf(store);
    return file === undefined ? undefined : indexBeside(file);
  }
  if (isPostgres(store)) return join(await makeHome(), `index-${digestOf(store)}.db`);
  return indexBeside(store ?? join(await makeHome(), "store.db"));
}

/** Tells databases apart, by where they are alone: a file name must not help to guess a password. */
function digestOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  searchParams.delete("password");
  return createHash("sha256").update(`${host}${pathname}?${searchParams}`).digest("hex").slice(0, 16);
}

/** Where the index of a store in a file is. */
function indexBeside(path: string): string {
  return join(dirname(path), `${parse(path).name}.index.db`);
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Beside the file it signs for. Another store has one on each machine: whoever may read a database must not be able to sign for it. */
async function openKey({ store }: RathOptions): Promise<Key> {
  if (store === "memory" || (typeof store === "object" && store.kind === "memory")) return new Key(undefined);
  const given = typeof store === "object" ? storePathOf(store) : store;
  return signingKeyIn(given === undefined || isPostgres(given) ? await makeHome() : dirname(resolve(given)));
}

/** Models are resolved by code that is loaded when the first one is asked. */
function resolving(models: RathOptions["models"]): (like: ModelLike) => Promise<Model> {
  let resolve: ((like: ModelLike) => Promise<Model>) | undefined;
  return async (like) => {
    resolve ??= (await import("./model/resolve.ts")).modelResolver(models);
    return resolve(like);
  };
}

/** Kinds of placements that come with the package, each loaded when it is first used. */
const builtIn: Readonly<Record<string, { readonly restorable: boolean; load(): Promise<SandboxBackend> }>> = {
  local: { restorable: true, load: async () => (await import("./sandbox/local.ts")).localSandbox() },
  memory: { restorable: true, load: async () => (await import("./sandbox/memory.ts")).memorySandbox() },
  host: { restorable: false, load: async () => (await import("./sandbox/host.ts")).hostSandbox() },
};
const planned: ReadonlySet<string> = new Set(["docker", "e2b", "opensandbox", "cube"]);

function placesFor(options: RathOptions, redact: Redact): Places {
  const loaded = new Map<string, Promise<SandboxBackend>>();
  const home = workspaceHome(options);
  const withholds = secretIn(redact);
  let checkouts: Promise<Checkouts> | undefined;
  return {
    backend: (kind) => {
      let backend = loaded.get(kind);
      if (backend === undefined) {
        backend = openBackend(kind, options.sandboxes ?? {});
        loaded.set(kind, backend);
        backend.catch(() => loaded.delete(kind)); // whoever asks next tries again
      }
      return backend;
    },
    restorable: (kind, network = "none") => {
      if (network !== "none") return false;
      const given = ownOf(options.sandboxes, kind);
      return given === undefined
        ? (ownOf(builtIn, kind)?.restorable ?? false)
        : given.capabilities.isolation !== "none" && given.capabilities.network;
    },
    checkouts: () => {
      checkouts ??= (async () =>
        (await import("./workspace/checkouts.ts")).checkouts(await home.folder(), { scan: { withhold: withholds } }))();
      return checkouts;
    },
    withholds,
    home: home.path,
    capture: async (trees, directory, onProgress) => {
      const { capture } = await import("./workspace/capture.ts");
      // Files that are known are not looked into again: with secrets that were declared since, they must be.
      const lasting = home.path() !== undefined && (options.secrets ?? []).length === 0;
      const memory = lasting ? join(await home.folder(), "captures") : undefined;
      const taken = await capture(trees, directory, { withhold: withholds, memory, onProgress, hidden: home.own() });
      return { directory, tree: taken.tree, layers: taken.layers, withheld: taken.withheld };
    },
    close: async () => {
      await (await checkouts)?.[Symbol.asyncDispose]();
      await home.close();
    },
  };
}

async function openBackend(kind: string, given: Readonly<Record<string, SandboxBackend>>): Promise<SandboxBackend> {
  const backend = ownOf(given, kind) ?? (await ownOf(builtIn, kind)?.load());
  if (backend !== undefined) {
    await backend.ready?.();
    return backend;
  }
  const known = [...Object.keys(builtIn), ...Object.keys(given)].join(", ");
  throw planned.has(kind)
    ? new RathError(
        "sandbox.unavailable",
        `Placement "${kind}" is not part of this version of openrath: use one of ${known}, or give a backend of your own as openrath({ sandboxes: { ${kind}: … } }).`,
        { details: { sandbox: kind } },
      )
    : new RathError(
        "sandbox.unknown",
        `There is no placement "${kind}" here: use one of ${known}, or give it as openrath({ sandboxes: … }).`,
        {
          details: { sandbox: kind },
        },
      );
}

function ownOf<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Beside the store; for a database under this machine's home, for a store that is kept nowhere a folder that goes with the process. */
function workspaceHome(options: RathOptions): {
  path(): string | undefined;
  folder(): Promise<string>;
  /** What holds the record: never part of any workspace. */
  own(): readonly string[];
  close(): Promise<void>;
} {
  const store = isPostgres(options.store) ? undefined : options.store;
  if (typeof store !== "object" && store !== "memory") {
    const path = (): string => (store === undefined ? join(home(), "workspaces") : `${resolve(store)}-workspaces`);
    const folder = async (): Promise<string> => {
      if (store === undefined) await makeHome();
      await mkdir(path(), { recursive: true, mode: 0o700 });
      return path();
    };
    const own = (): readonly string[] => (store === undefined ? [home()] : [...ownBeside(resolve(store)), path()]);
    return { path, folder, own, close: async () => {} };
  }
  const kept = typeof store === "object" ? storePathOf(store) : undefined;
  let made: Promise<string> | undefined;
  return {
    path: () => undefined,
    own: () => (kept === undefined ? [] : ownBeside(kept)),
    folder: () => {
      made ??= mkdtemp(join(tmpdir(), "openrath-"));
      return made;
    },
    close: async () => {
      if (made !== undefined) await rm(await made, { recursive: true, force: true });
    },
  };
}

/** What a store in a file has on disk. */
function ownBeside(file: string): readonly string[] {
  const databases = [file, memoryBeside(file), indexBeside(file), accessBeside(file)];
  return [...databases.flatMap((one) => ["", "-wal", "-shm", "-journal"].map((end) => one + end)), join(dirname(file), "signing-key.pem")];
}

/** Files are looked through in pieces that overlap, as bytes. */
const pieceBytes = 1 << 20;
const overlapBytes = 4096;

/** Content that holds a secret is not stored. */
function secretIn(redact: Redact): (bytes: Uint8Array) => boolean {
  return (bytes) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let from = 0; from < buffer.length; from += pieceBytes - overlapBytes)
      if (redact(buffer.toString("latin1", from, from + pieceBytes)) !== undefined) return true;
    return false;
  };
}
