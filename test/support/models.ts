/** Models of tests: each attempt is a function, and a Rath that knows prices. */
import { Key } from "../../src/runtime/key.ts";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { type Rath, RathOnStore } from "../../src/runtime/rath.ts";
import { redactor } from "../../src/runtime/redact.ts";
import { Runs } from "../../src/runtime/runs.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import type { Places } from "../../src/runtime/sandboxes.ts";
import type { Price } from "../../src/session/host.ts";
import type { ModelReply, ModelRequest, ReplyUsage } from "../../src/session/message.ts";
import type { Model, ModelOptions, ModelPart } from "../../src/session/model.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Rules } from "../../src/tool/policy.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";

export type Attempt = (request: ModelRequest, options: ModelOptions) => AsyncIterable<ModelPart>;

/** The n-th attempt is played by the n-th function, the last one by all that follow. */
export function attempts(id: string, list: readonly Attempt[], more: Partial<Model> = {}): Model & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    id,
    free: true,
    ...more,
    asked,
    stream(request, options) {
      asked.push(request);
      const attempt = list[Math.min(asked.length, list.length) - 1] as Attempt;
      return attempt(request, options);
    },
  };
}

export const noUsage: ReplyUsage = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 };

/** Says a text in pieces, then gives it as the reply. */
export function says(text: string, reply: Partial<ModelReply> = {}): Attempt {
  return async function* () {
    for (const piece of text.match(/\S+\s*/g) ?? []) yield { type: "text-delta", text: piece };
    yield { type: "reply", reply: { parts: text === "" ? [] : [{ type: "text", text }], finish: "stop", usage: noUsage, ...reply } };
  };
}

/** Says some of it, then fails. */
export function breaks(error: unknown, ...pieces: readonly string[]): Attempt {
  return async function* () {
    for (const text of pieces) yield { type: "text-delta", text };
    throw error;
  };
}

const noPlace = (): never => {
  throw new Error("there are no sandboxes here");
};
const nowhere: Places = {
  backend: async () => noPlace(),
  restorable: () => false,
  checkouts: async () => noPlace(),
  withholds: () => false,
  home: () => undefined,
  capture: async () => noPlace(),
  close: async () => {},
};

/** A Rath whose models cost what a table says; openrath has no option for prices yet. */
export function pricedRath(
  prices: Readonly<Record<string, Omit<Price, "table" | "cached" | "cacheWrite"> & Partial<Price>>>,
  options: { readonly store?: Store; readonly workflows?: Readonly<Record<string, Workflow>> } = {},
): Rath {
  const { store = memoryStore(), workflows = {} } = options;
  const runtime = new Runtime({
    platform: nodePlatform,
    redact: redactor(undefined),
    openStore: async () => store,
    openKey: async () => new Key(undefined),
    deps: {},
    relaxed: false,
    implicitForks: "allow",
    workflows,
    models: async (like) => like as Model,
    prices: (name) => {
      const price = prices[name];
      return price === undefined ? undefined : { table: "test", cached: price.input, cacheWrite: price.input, ...price };
    },
    rules: new Rules(undefined),
    openMemory: async () => noPlace(),
    embedder: async () => noPlace(),
    places: nowhere,
    times: {
      stillResumeMs: 2000,
      stillReplayMs: 100,
      parkGraceMs: 5,
      closeMs: 200,
      lookMs: 500,
      leaseMs: 30_000,
      remindMs: 3000,
      deaths: 20,
    },
  });
  return new RathOnStore(
    runtime,
    new Runs(runtime, workflows, "test-priced"),
    () => Promise.reject(new Error("no bundles here")),
    undefined as never,
  );
}
