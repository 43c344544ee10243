/** Of what and where a dossier was made: versions, models with the dates of their prices, sandboxes, workflows, and the files of its folder. */

import { runtimeOf } from "../../runtime/replay.ts";
import { version } from "../../runtime/version.ts";
import { dataOf } from "./effects.ts";
import { type ModelSource, sourceOf } from "./model-source.ts";
import type { Dossier } from "./read.ts";
import { modelOf } from "./spending.ts";
import { actedIn } from "./work.ts";

export const dossierFormat = "openrath.dossier";

/** One model that answered. */
export interface ModelUse {
  readonly model: string;
  readonly calls: number;
  readonly sources: Readonly<Partial<Record<ModelSource, number>>>;
  /** The tables its prices are from; a table is named by its day. */
  readonly prices: readonly string[];
}

/** The environment of a session, as far as it is on record, and of the dossier. */
export interface Environment {
  readonly format: typeof dossierFormat;
  readonly version: 1;
  readonly written: string;
  readonly session: { readonly id: string; readonly head: string; readonly step: number; readonly title: string };
  readonly openrath: string;
  readonly node: string;
  readonly platform: string;
  readonly store: string;
  readonly workflows: readonly { readonly name: string; readonly revision: string | null; readonly run: string; readonly status: string }[];
  /** Processes that took up a run. */
  readonly workers: readonly string[];
  readonly models: readonly ModelUse[];
  readonly sandboxes: readonly { readonly backend: string; readonly isolation: string; readonly effects: number }[];
  readonly tools: readonly { readonly name: string; readonly revision: string | null; readonly calls: number }[];
  /** Secrets replaced when the record was written, and once more for this dossier. */
  readonly redacted: { readonly onRecord: number; readonly again: number };
}

export async function environmentOf(dossier: Dossier): Promise<Environment> {
  const { session, title, at, runs, redacted, clean } = dossier;
  const store = await runtimeOf(session).store();
  return {
    ...{ format: dossierFormat, version: 1, written: at, session: { ...session.toJSON(), title } },
    ...{ openrath: version(), node: process.version, platform: `${process.platform} ${process.arch}`, store: store.kind ?? "of your own" },
    workflows: runs.flatMap(({ id, started, status }) => {
      const data = dataOf(started, "run.started");
      return data === undefined ? [] : [{ name: data.workflow, revision: data.revision ?? null, run: id, status }];
    }),
    workers: [...new Set(runs.flatMap(({ journal }) => journal.flatMap((event) => dataOf(event, "run.resumed")?.worker ?? [])))],
    models: modelsOf(dossier),
    sandboxes: sandboxesOf(dossier),
    tools: toolsOf(dossier),
    redacted: { onRecord: redacted, again: clean.count },
  };
}

function modelsOf({ effects }: Dossier): readonly ModelUse[] {
  const found = new Map<string, { calls: number; sources: Partial<Record<ModelSource, number>>; prices: Set<string> }>();
  for (const effect of effects) {
    const model = modelOf(effect);
    if (model === undefined) continue;
    const use = found.get(model) ?? { calls: 0, sources: {}, prices: new Set<string>() };
    found.set(model, use);
    const source = sourceOf(effect);
    use.calls++;
    use.sources[source] = (use.sources[source] ?? 0) + 1;
    const price = dataOf(effect.result, "model.returned")?.price?.table;
    if (price !== undefined) use.prices.add(price);
  }
  return [...found].map(([model, { calls, sources, prices }]) => ({ model, calls, sources, prices: [...prices] }));
}

function sandboxesOf({ effects }: Dossier): Environment["sandboxes"] {
  const found = new Map<string, { readonly backend: string; readonly isolation: string; effects: number }>();
  for (const effect of effects) {
    const acted = actedIn(effect);
    if (acted === undefined) continue;
    const key = `${acted.sandbox} ${acted.isolation}`;
    const known = found.get(key) ?? { backend: acted.sandbox, isolation: acted.isolation, effects: 0 };
    found.set(key, known);
    known.effects++;
  }
  return [...found.values()];
}

function toolsOf({ effects }: Dossier): Environment["tools"] {
  const found = new Map<string, { readonly name: string; readonly revision: string | null; calls: number }>();
  for (const { call } of effects) {
    const data = dataOf(call, "tool.called");
    if (data === undefined) continue;
    const key = JSON.stringify([data.name, data.revision]);
    const known = found.get(key) ?? { name: data.name, revision: data.revision ?? null, calls: 0 };
    found.set(key, known);
    known.calls++;
  }
  return [...found.values()];
}
