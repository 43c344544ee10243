/**
 * What a dossier answers about the work as a whole, read from its folder alone: task, environment, workflow, tools, sandboxes, memory
 * and validation (Q24). Nothing of the process that made it is used, so whoever gets the folder can ask the same.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../src/audit/dossier/manifest.ts";
import { openrath } from "../../src/index.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";

export interface DossierAnswers {
  /** The first thing that a person said. */
  readonly task: string;
  readonly environment: Pick<Environment, "openrath" | "node" | "platform" | "store" | "models">;
  readonly workflows: readonly string[];
  /** Names with how often they were called, on all branches. */
  readonly tools: Readonly<Record<string, number>>;
  /** Backend and isolation, with how many effects they held. */
  readonly sandboxes: readonly string[];
  /** Who read and who wrote which version, on the branches that led to the result. */
  readonly memory: { readonly read: readonly string[]; readonly written: readonly string[] };
  readonly validation: readonly string[];
  /** Whether the record was verified, and replayed, when the dossier was made. */
  readonly verified: boolean;
  readonly replayed: boolean | undefined;
}

export async function dossierAnswers(folder: string): Promise<DossierAnswers> {
  const json = async <T>(file: string): Promise<T> => JSON.parse(await readFile(join(folder, file), "utf8")) as T;
  const { models, node, openrath: version, platform, store, workflows, tools, sandboxes } = await json<Environment>("manifest.json");
  const { verify, replay } = await json<{ verify: { ok: boolean }; replay: { identical?: boolean } }>("verification.json");
  await using rath = openrath({ store: "memory", memory: volatileMemory() });
  const session = await rath.import(join(folder, "session"));
  const name = ({ uri, version: number }: { readonly uri: string; readonly version: number }): string => `${uri}@${number}`;
  return {
    task: session.messages.find(({ role }) => role === "user")?.text ?? "",
    environment: { openrath: version, node, platform, store, models },
    workflows: workflows.map(({ name: workflow, status }) => `${workflow} ${status}`),
    tools: Object.fromEntries(tools.map(({ name: tool, calls }) => [tool, calls])),
    sandboxes: sandboxes.map(({ backend, isolation, effects }) => `${backend} ${isolation} ${effects}`),
    memory: {
      read: session.memory.reads.map((read) => `${name(read)} by ${read.recall.by}`),
      written: session.memory.writes.map((write) => `${name(write)} by ${write.by}`),
    },
    validation: session.checks.map(({ name: check, passed }) => `${check} ${passed ? "passed" : "failed"}`),
    ...{ verified: verify.ok, replayed: replay.identical },
  };
}
