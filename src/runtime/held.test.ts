import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openrath } from "../openrath.ts";
import { memorySandbox } from "../sandbox/memory.ts";
import type { SandboxBackend } from "../sandbox/sandbox.ts";
import { RathError } from "../session/errors.ts";
import type { SandboxProcess } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { emptyTree, Trees } from "../workspace/tree.ts";
import { Acting, type Stage } from "./acting.ts";
import { Held } from "./held.ts";
import { WorkspaceObjects } from "./workspace-objects.ts";

const run = tool({
  name: "run",
  description: "Runs a command.",
  input: { type: "object", properties: { command: { type: "string" } } },
  writes: "files",
  run: async (given, { sandbox }) => (await sandbox.exec((given as { readonly command: string }).command)).stdout,
});

test("files that cannot be recorded fail the call that made them, not those after it", async () => {
  await using rath = testRath();
  const placed = await rath.session("work").to("host", { network: "all" }).call(run, { command: "echo kept > kept" });
  const error = await placed.call(run, { command: "for i in $(seq 250); do mkdir d; cd d; done" }).catch((thrown: unknown) => thrown);
  if (!RathError.is(error, "effect.failed") || error.session === undefined) throw error;
  const { session: deep } = error;
  const after = await deep.call(run, { command: "cat kept; ls" });
  expect(after.output).toBe("kept\nkept\n");
});

// Mutant: only the file of the store is left out, not what is remembered beside it.
test("the store and its memory are no part of a workspace that they lie in", async () => {
  const directory = await mkdtemp(join(tmpdir(), "held-"));
  await writeFile(join(directory, "mine"), "x");
  await writeFile(join(directory, ".openrathignore"), "!signing-key.pem\n");
  const rath = openrath({ store: join(directory, "run.db") });
  const other = await rath.session("of somebody else").do("talk", () => "private");
  await rath.memory.publish(await other.remember({ key: "private", content: "thought" }));
  const session = rath.session("work").to("host", { workspace: directory, network: "all" });
  const listed = await session.call(run, { command: "ls" });
  expect(listed.output).toBe("mine\n");
  await rath.close();
  await rm(directory, { recursive: true });
});

test("an effect that ended while it waited for its turn does not take the files back", async () => {
  const store = memoryStore();
  const shared = new WorkspaceObjects(async () => store);
  const held = new Held(
    "s",
    { opened: () => {}, closed: () => {} },
    () => Promise.reject(new Error("none")),
    () => "id",
    () => false,
  );
  const objects = shared.own();
  const trees = new Trees(objects);
  const backend = { kind: "memory", capabilities: { isolation: "process" } } as never;
  const stage: Stage = {
    held,
    trees,
    objects,
    guard: undefined,
    signal: new AbortController().signal,
    discards: false,
    placed: async () => ({ placement: "p", backend, from: undefined, spec: {} as never }),
    tree: async () => emptyTree,
    running: () => [],
    withholds: () => false,
  };
  const release = await held.take(); // somebody else writes
  const acting = new Acting(stage);
  for await (const _ of acting.list()); // looks at files before
  const waiting = acting.write("a", "x").catch(() => {}); // and waits for its turn
  await new Promise((resolve) => setTimeout(resolve, 5));
  const settling = acting.settle(); // its time is over
  release(); // the other one has linked its tree
  const deed = await settling;
  await waiting;
  expect(deed?.files).toBe("first");
  acting.release();
  (await held.take())();
});

test("a process that ended is told of by the attempt that counts", async () => {
  const processes = new Map<string, SandboxProcess>();
  const backend: SandboxBackend = {
    ...memorySandbox(),
    kind: "living",
    open: async (spec) => {
      const sandbox = await memorySandbox().open(spec);
      const start = async (): Promise<SandboxProcess> => {
        const process = { id: "p1", exitCode: undefined as number | undefined, output: () => "", stop: async () => {} };
        processes.set("p1", process as unknown as SandboxProcess);
        return process as unknown as SandboxProcess;
      };
      return Object.assign(Object.create(sandbox) as typeof sandbox, { id: sandbox.id, start });
    },
  };
  await using rath = testRath({ sandboxes: { living: backend } });
  const serve = tool({
    name: "serve",
    description: "Starts a server.",
    input: { type: "object" },
    writes: "files",
    run: async (_, { sandbox }) => void (await sandbox.start?.("serve")),
  });
  let tries = 0;
  const flaky = tool({
    name: "flaky",
    description: "Fails once.",
    input: { type: "object" },
    writes: "files",
    retry: { attempts: 2 },
    run: async (_, { sandbox }) => {
      await sandbox.write("a", "x");
      if (++tries === 1) throw new Error("not yet");
    },
  });
  const serving = await rath.session("work").to("living", {}).call(serve, {});
  expect(serving.pending).toMatchObject([{ kind: "process", process: "p1" }]);
  Object.assign(processes.get("p1") as object, { exitCode: 0 });
  const after = await serving.call(flaky, {});
  expect(tries).toBe(2);
  expect(after.pending).toEqual([]);
});

test("the end waits for a close that is under way", async () => {
  let disposed = false;
  const closed: string[] = [];
  const journal = { opened: () => {}, closed: (_: string, reason: string) => void closed.push(reason) };
  const slow = {
    id: "slow",
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => setTimeout(resolve, 20));
      disposed = true;
    },
  };
  const backend = { kind: "slow", capabilities: { isolation: "process" }, open: async () => slow } as unknown as SandboxBackend;
  const none = (): Promise<never> => Promise.reject(new Error("none"));
  const held = new Held(
    "s",
    journal,
    none,
    () => "id",
    () => false,
  );
  const trees = new Trees(new WorkspaceObjects(async () => memoryStore()).own());
  await held.ready({ placement: "p", backend, from: undefined, spec: {} as never }, trees, emptyTree);
  void held.close("not used for a while");
  await held.end("the run ended");
  expect([disposed, closed]).toEqual([true, ["not used for a while"]]);
});
