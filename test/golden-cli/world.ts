/** A store with a few sessions, the same in every test, and a terminal that remembers what was written to it. */

import { hash } from "node:crypto";
import { z } from "zod";
import { runCli } from "../../src/cli/program.ts";
import { type Open, type Project, projectOf } from "../../src/cli/project.ts";
import type { Host } from "../../src/cli/terminal.ts";
import { Agent, best, parallel, type Rath, type Session, scripted, tool } from "../../src/index.ts";
import type { MemoryStore } from "../../src/memory/memory.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { editFile, writeFile } from "../../src/tool/builtin/tools.ts";
import { Flow } from "../support/flow.ts";

/** Sessions by the name a test knows them by. */
export type World = Readonly<
  Record<"forecast" | "contest" | "assistant" | "asks" | "fails" | "hostile" | "notes" | "draft" | "question" | "run", string>
> & {
  readonly store: Store;
};

const search = tool({
  name: "search",
  description: "Searches.",
  input: z.object({ query: z.string().optional() }),
  repeat: "safe",
  writes: "nothing",
  run: () => ({ found: "\u001b[2J12:00" }),
});
const deleteFile = tool({
  name: "delete_file",
  description: "Deletes a file.",
  input: z.object({ path: z.string() }),
  needsApproval: true,
  run: () => "deleted",
});

/** A script that costs what a real model would. */
const priced = {
  ...scripted(
    { text: "I look it up.", calls: [{ tool: "search", input: { query: "tides" } }], usage: { input: 1200, output: 40, cached: 1000 } },
    { text: "High water is at noon.\n", usage: { input: 1300, output: 8, cached: 1200 } },
  ),
  id: "openai/gpt-5-mini",
  free: false,
};

export const workflows = {
  /** Two forks that are merged; the merged one becomes the result. */
  forecast: new Flow(async (session) => {
    // One after the other: which of two at once is written first depends on how busy the machine is.
    const sea = await session.fork("sea").do("measure the sea", () => ({ celsius: 17 }), { repeat: "safe", input: { place: "sea" } });
    const sky = await session.fork("sky").do("measure the sky", () => ({ celsius: 21 }), { repeat: "safe", input: { place: "sky" } });
    const both = await sea.merge(sky, { reason: "both count" });
    return both.do("publish", () => `sea ${sea.output.celsius}, sky ${sky.output.celsius}`, { input: [sea.output, sky.output] });
  }, "forecast"),
  /** Of two tries one is rejected; inner work is nested. */
  contest: new Flow(async (session) => {
    const tried = await session.fork("quick").do("try", () => "broken", { repeat: "safe" });
    tried.reject("does not build");
    const thorough = await session
      .fork("thorough")
      .do(
        "try again",
        async ({ session: inner }) => (await inner.say("look closer").do("build", () => "built", { repeat: "safe" })).output,
        { repeat: "nested" },
      );
    return thorough.check("tests", () => ({ passed: true, score: 0.75, reason: "3 of 4" }));
  }, "contest"),
  asks: new Flow(async (session) => {
    const asked = await (await session.do("prepare", () => "ready", { repeat: "safe" })).ask("Release to everybody?");
    return asked.do("release", () => `released: ${asked.output}`);
  }, "asks"),
  assistant: new Agent({
    name: "assistant",
    model: priced,
    instructions: "Look it up.",
    tools: [search],
  }),
  careful: new Agent({
    name: "careful",
    model: scripted({ calls: [{ tool: "delete_file", input: { path: "a.txt" } }] }, "As you say."),
    tools: [deleteFile],
  }),
  limited: new Agent({
    name: "limited",
    model: scripted({ calls: [{ tool: "search", input: {} }] }, { calls: [{ tool: "nothing", input: {} }] }, "never said"),
    limits: { rounds: 2 },
    tools: [search],
  }),
  broke: new Agent({
    name: "broke",
    model: scripted(() => {
      throw new Error("the quota of the account is used up");
    }),
  }),
  parallel: parallel(
    {
      one: new Agent({ name: "one", model: scripted("This is what one says.") }),
      two: new Agent({ name: "two", model: scripted("And this is two.") }),
    },
    (branches) => best(branches, (session) => session.text.length),
  ),
  fails: new Flow((session) => session.do("deploy", () => Promise.reject(new Error("no such host"))), "fails"),
};

/** What a model or tool might say to take over a terminal. */
export const hostile = "\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u009b1A\r overwritten \u202egnp.exe\u202c 日本 😀";

/** Each Rath on the store counts ids of its own. */
export function rathOn(store: Store): Rath {
  const memory = memories.get(store);
  return testRath({ store, workflows, implicitForks: "allow", ...(memory === undefined ? {} : { memory }) });
}

/** What is remembered beside a store; both outlive the commands that open them. */
const memories = new WeakMap<Store, MemoryStore>();

export function lastingStore(note: Note = () => {}): Store {
  // Older than whoever looks at it later, by more than gc leaves alone.
  const events = memoryStore({ clock: () => Date.parse("2025-12-24T00:00:00.000Z") });
  const items = volatileMemory({ clock: () => Date.parse("2026-01-01T00:00:00.000Z") });
  const lasting = { [Symbol.asyncDispose]: async () => {} };
  const store: Store = {
    ...{ ...events, ...lasting },
    append: (...of) => noted(note, (other) => other.append(...of), events),
    claim: (...of) => noted(note, (other) => other.claim(...of), events),
    take: (...of) => noted(note, (other) => other.take(...of), events),
    renew: (...of) => noted(note, (other) => other.renew(...of), events),
    release: (...of) => noted(note, (other) => other.release(...of), events),
  };
  memories.set(store, {
    ...{ ...items, ...lasting },
    write: (...of) =>
      noted(
        (act) => note((_, memory) => act(memory)),
        (other) => other.write(...of),
        items,
      ),
    used: (...of) =>
      noted(
        (act) => note((_, memory) => act(memory)),
        (other) => other.used(...of),
        items,
      ),
  });
  return store;
}

/** What changed a store or what is remembered beside it, to be done to others again. */
type Note = (act: (store: Store, memory: MemoryStore) => Promise<unknown>) => void;

function noted<T, R>(note: (act: (other: T) => Promise<unknown>) => void, act: (other: T) => Promise<R>, on: T): Promise<R> {
  note(act);
  return act(on);
}

/** Makes a world once; each further one is a store to which the same was done, which takes a tenth of the time. */
export function repeated<World extends { readonly store: Store }>(make: (store: Store) => Promise<World>): () => Promise<World> {
  const acts: Parameters<Note>[0][] = [];
  let made: Promise<World> | undefined;
  return async () => {
    // The first sandbox of a process takes so long to load that its calls are marked as having waited: the second world is the one.
    made ??= make(lastingStore()).then(() => make(lastingStore((act) => acts.push(act))));
    const world = await made;
    const store = lastingStore();
    for (const act of acts) await act(store, memories.get(store) as MemoryStore);
    // The next Rath on it is not the first.
    await rathOn(store).close();
    return { ...world, store };
  };
}

export const makeWorld = repeated(async (store): Promise<World> => {
  const rath = rathOn(store);
  const run = async (name: keyof typeof workflows, message: string, title?: string): Promise<Session> =>
    (await (await rath.run(name, rath.session(message, { title, tags: title === undefined ? [] : ["weekly"] }))).settle()).session;
  const forecast = await run("forecast", "How warm is it?", "Weather of the week");
  const contest = await run("contest", "Fix the failing test");
  const assistant = await run("assistant", "When is high water?");
  const asks = await run("asks", "Release 1.2");
  const fails = await run("fails", "Deploy it");
  const strange = await rath.session(hostile).do(hostile, () => ({ said: hostile, bytes: new Uint8Array([1, 2, 3]) }), { repeat: "safe" });
  const { notes, draft } = await filesIn(rath);
  // What somebody stored long ago and no event names.
  const bytes = Buffer.from("nobody names this\n".repeat(100));
  await store.append({ branches: [], blobs: [{ hash: hash("sha256", bytes), bytes }] });
  const [question] = await rath.pending();
  let waiting: string | undefined;
  for await (const { id } of rath.runs({ status: "waiting" })) waiting = id;
  await rath.close();
  return {
    ...{ store, forecast: forecast.id, contest: contest.id, assistant: assistant.id, asks: asks.id, fails: fails.id, hostile: strange.id },
    ...{ notes: notes.id, draft: draft.id, question: question?.id ?? "", run: waiting ?? "" },
  };
});

/** A session that wrote files, and a fork of it that went another way. */
async function filesIn(rath: Rath): Promise<{ readonly notes: Session; readonly draft: Session }> {
  let notes: Session = rath.session("Keep notes on the tides").to("memory");
  notes = await notes.call(writeFile, { path: "notes.md", content: "# Tides\n\nHigh water is at noon.\nLow water is at six.\n" });
  notes = await notes.call(writeFile, { path: "data/levels.csv", content: "hour,level\n0,1.2\n6,0.3\n" });
  let draft: Session = notes.fork("draft");
  notes = await notes.call(editFile, { path: "notes.md", find: "at noon", replace: "at one" });
  draft = await draft.call(writeFile, { path: "data/\u001b[2Jraw.bin", content: "\u001b[31m\u0000" });
  draft = await draft.call(writeFile, { path: "notes.md", content: "# Tides\n\n\tUnknown.\u001b[2J\n" });
  return { notes, draft };
}

export interface Shown {
  readonly exit: number;
  /** Both streams as a terminal shows them, one after the other as they were written. */
  readonly both: string;
  readonly out: string;
  readonly err: string;
}

export interface Calling {
  readonly terminal: boolean;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  readonly now?: () => Date;
  /** Sees what is written as it is. */
  readonly onWrite?: (text: string) => void;
}

/** Calls the command line on a store, or on what opens a project, as a person or a script would. */
export async function call(store: Store | Open | undefined, argv: readonly string[], calling: Calling): Promise<Shown> {
  const written: { readonly to: "out" | "err"; readonly text: string }[] = [];
  const terminal = (to: "out" | "err") => ({
    columns: calling.columns ?? 100,
    isTTY: calling.terminal,
    write: (text: string) => {
      written.push({ to, text });
      calling.onWrite?.(text);
    },
  });
  const host: Host = {
    out: terminal("out"),
    err: terminal("err"),
    input: {
      isTTY: false,
      text: async () => calling.input ?? "",
      lines: async function* () {
        yield* (calling.input ?? "").split("\n").filter((line) => line !== "");
      },
    },
    env: calling.env ?? { NO_COLOR: "1", LANG: "C.UTF-8", USER: "ada" },
    cwd: calling.cwd ?? process.cwd(),
    signal: calling.signal ?? new AbortController().signal,
    now: calling.now ?? (() => new Date("2026-01-01T00:05:00.000Z")),
  };
  const open = typeof store === "object" ? (): Promise<Project> => projectOf(rathOn(store), undefined) : store;
  const exit = await runCli(argv, host, open);
  const textOf = (to?: "out" | "err"): string => written.flatMap((one) => (to === undefined || one.to === to ? [one.text] : [])).join("");
  return { exit, both: textOf(), out: textOf("out"), err: textOf("err") };
}
