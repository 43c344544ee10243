/** What exports say of calls that did not go well, and of replies that were erased. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { write } from "../../src/audit/audit.ts";
import { Agent, type Rath, type Session, tool } from "../../src/index.ts";
import { scripted } from "../../src/model/scripted.ts";
import { testRath } from "../../src/testing/testing.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-outcomes-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const input = z.object({});
const pay = tool({ name: "pay", description: "Pays.", input, needsApproval: true, run: () => "paid" });
const fetches = tool({ name: "fetch", description: "Fetches.", input, repeat: "safe", run: () => Promise.reject(new Error("nope")) });

/** An agent whose first call is denied and whose second one fails. */
async function worked(rath: Rath): Promise<Session> {
  const calls = [
    { tool: "pay", input: {} },
    { tool: "fetch", input: {} },
  ];
  const usage = { input: 12, output: 3, cached: 0 };
  const clerk = new Agent({ name: "clerk", tools: [pay, fetches], model: scripted({ calls, usage }, { text: "Neither.", usage }) });
  const run = await rath.run(clerk, rath.session("Try"));
  const settled = await run.settle();
  if (settled.status !== "waiting") throw new Error(settled.status);
  await rath.decide(settled.pending[0]?.id ?? "", { by: "human:ada", approve: false, reason: "no" });
  return run.result();
}

async function exported<T>(session: Session, format: "atif" | "otlp" | "chat-jsonl"): Promise<T> {
  const file = join(folder, `${session.id}.${format}`);
  await write(session, file, { format });
  return JSON.parse(await readFile(file, "utf8")) as T;
}

interface Trajectory {
  readonly steps: readonly {
    readonly source: string;
    readonly message: string;
    readonly metrics?: object;
    readonly observation?: { readonly results: readonly { readonly content: string }[] };
  }[];
}

// Mutant: only the words of an outcome are written.
test("a trajectory says of results what the model read", async () => {
  await using rath = testRath();
  const session = await worked(rath);
  const { steps } = await exported<Trajectory>(session, "atif");
  const read = steps.flatMap(({ observation }) => observation?.results ?? []).map(({ content }) => content);
  expect(read).toEqual(["Denied: no", "Error: nope"]);
  const { messages } = await exported<{ messages: readonly { role: string; content: string }[] }>(session, "chat-jsonl");
  expect(messages.flatMap(({ role, content }) => (role === "tool" ? [content] : []))).toEqual(read);
});

// Mutants: an erased reply has no metrics; an erased call has no usage.
test("what an erased reply took is still told", async () => {
  await using rath = testRath();
  const session = await worked(rath);
  await rath.erase({ session }, { by: "human:ada", reason: "asked to" });
  const opened = await rath.open(session.id);
  const { steps } = await exported<Trajectory>(opened, "atif");
  const replies = steps.filter(({ source }) => source === "agent");
  expect(replies).toHaveLength(2);
  for (const reply of replies)
    expect(reply).toMatchObject({ message: "[erased]", metrics: { prompt_tokens: 12, completion_tokens: 3, cached_tokens: 0 } });
  const trace = JSON.stringify(await exported(opened, "otlp"));
  expect(trace.match(/\{"key":"gen_ai.usage.input_tokens","value":\{"intValue":"?12"?\}\}/g)).toHaveLength(2);
});
