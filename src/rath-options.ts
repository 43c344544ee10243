/** What `openrath()` is given, and that it is what it should be: checked at once, since whatever is wrong would show much later. */
import type { MemoryStore } from "./memory/memory.ts";
import { givenPrices, type Prices } from "./model/prices.ts";
import type { Telemetry } from "./runtime/telemetry.ts";
import type { SandboxBackend } from "./sandbox/sandbox.ts";
import { RathError } from "./session/errors.ts";
import { kindOf, shown, unsupported } from "./session/given.ts";
import { isModelLike, type ModelLike, modelWanted } from "./session/model.ts";
import type { Store } from "./store/store.ts";
import type { Policy } from "./tool/policy.ts";
import type { Workflow } from "./workflow/workflow.ts";

/** Where adapters and workflows are named. */
export interface RathOptions {
  /**
   * A path (SQLite), "postgres://…", "memory", or any Store. Default: what `OPENRATH_STORE` names, else SQLite under `OPENRATH_HOME`, else
   * under `./.openrath/`. What is recorded is signed with `signing-key.pem`, made at first use: beside the file of a store, given as its
   * path or as `sqliteStore(path)`; under `OPENRATH_HOME` for databases and stores of your own. A store in memory, whose `kind` is
   * "memory", has a key for as long as it lives.
   */
  readonly store?: Store | "memory" | (string & {}) | undefined;
  /** Names for models: aliases in production ("fast"), substitutes in tests ("openai/*": scripted(…)). */
  readonly models?: Readonly<Record<string, ModelLike>> | undefined;
  /** More placements for `session.to(name)`. Built-in names work without being listed. */
  readonly sandboxes?: Readonly<Record<string, SandboxBackend>> | undefined;
  /** US dollars for a million tokens, for models whose price is not known or differs. A price for "scripted" lets tests reach limits in dollars. */
  readonly prices?: Prices | undefined;
  /** Where memories are kept. Default: beside the store, in its file's folder or its database; of a store in memory or one of your own, in memory. */
  readonly memory?: MemoryStore | undefined;
  /** Rules about tools: who may call what, how often, and when a person must say yes. */
  readonly policy?: Policy | readonly Policy[] | undefined;
  /** What can be started or resumed by name. */
  readonly workflows?: Readonly<Record<string, Workflow>> | undefined;
  /** Values that must never enter the log; well-known key shapes are found without being listed. */
  readonly secrets?: readonly string[] | undefined;
  /** "sync" (default): acknowledged when it is on disk. "relaxed": before; effects that may not be repeated are still synced. */
  readonly durability?: "sync" | "relaxed" | undefined;
  /** Watches work while it is done: `telemetry()` of "openrath/telemetry" makes OpenTelemetry spans of it. */
  readonly telemetry?: Telemetry | undefined;
  /** Live objects for effects, given again by whoever resumes; never stored. */
  readonly deps?: object | undefined;
  /** Whose data it works on: nothing of other tenants or projects in the same store can be seen. Default: "default" of "default". */
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
  /** A second use of one value is a fork. "warn" (default) names the place; "error" refuses unlabelled ones. */
  readonly implicitForks?: "allow" | "warn" | "error" | undefined;
}

/** Every option there is: one that is misspelt would be ignored in silence, and another store be written. */
const known: Readonly<Record<keyof RathOptions, true>> = {
  store: true,
  models: true,
  sandboxes: true,
  prices: true,
  memory: true,
  policy: true,
  workflows: true,
  secrets: true,
  durability: true,
  deps: true,
  telemetry: true,
  tenant: true,
  project: true,
  implicitForks: true,
};

export function checkOptions(options: RathOptions): void {
  const extra = Object.keys(options).find((option) => !Object.hasOwn(known, option));
  if (extra !== undefined)
    throw new RathError("value.unsupported", `openrath() has no option "${extra}". There are: ${Object.keys(known).join(", ")}.`, {
      details: { field: extra },
    });
  checkStore(options.store);
  for (const name of ["models", "sandboxes", "prices", "workflows"] as const) {
    const given: unknown = options[name];
    if (given === undefined || (typeof given === "object" && given !== null && !Array.isArray(given))) continue;
    throw unsupported(name, `is ${kindOf(given)}`, "give an object with a name for each");
  }
  for (const [name, model] of Object.entries<unknown>(options.models ?? {}))
    if (!isModelLike(model)) throw unsupported(`models[${JSON.stringify(name)}]`, `is ${shown(model)}`, modelWanted(model));
  givenPrices(options.prices ?? {});
  const secrets: unknown = options.secrets ?? [];
  if (!Array.isArray(secrets) || secrets.some((secret) => typeof secret !== "string"))
    throw unsupported("secrets", "is no list of strings", "give the values themselves, as an array");
  for (const [name, backend] of Object.entries<Partial<SandboxBackend> | null | undefined>(options.sandboxes ?? {})) {
    if (typeof backend?.kind === "string" && typeof backend.open === "function" && backend.capabilities?.isolation !== undefined) continue;
    throw new RathError(
      "value.unsupported",
      `sandboxes.${name} is no backend: give an object with kind, capabilities ({ isolation, network, … }) and open.`,
      { details: { field: `sandboxes.${name}` } },
    );
  }
  if (options.memory !== undefined && typeof (options.memory as Partial<MemoryStore> | null)?.write !== "function")
    throw new RathError("value.unsupported", "memory is no memory store: give sqliteMemory(path), volatileMemory() or your own.", {
      details: { field: "memory" },
    });
  oneOf("durability", options.durability, ["sync", "relaxed"]);
  oneOf("implicitForks", options.implicitForks, ["allow", "warn", "error"]);
  for (const [name, workflow] of Object.entries<unknown>(options.workflows ?? {})) {
    if (typeof (workflow as Partial<Workflow> | null | undefined)?.describe === "function") continue;
    throw new RathError(
      "workflow.invalid",
      `workflows.${name} is no workflow: give an Agent, or an instance of a class that extends Workflow.`,
      {
        details: { workflow: name },
      },
    );
  }
}

/** A number or an empty text would be taken for the path of a file when the first thing is written. */
function checkStore(store: unknown): void {
  if (store === undefined || (typeof store === "string" && store !== "")) return;
  if (typeof (store as Partial<Store> | null)?.append === "function") return;
  throw unsupported("store", `is ${store === "" ? "empty" : kindOf(store)}`, 'give a path, "postgres://…", "memory", or a Store');
}

function oneOf(option: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.includes(value as string)) return;
  throw new RathError("value.unsupported", `${option} is ${JSON.stringify(value)}: use one of ${allowed.join(", ")}.`, {
    details: { field: option },
  });
}
