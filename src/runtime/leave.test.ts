/** What is under way in a sandbox when a run is left has no result: the sandbox is closed under it, as by a crash. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { kept, until } from "../../test/support/other-process.ts";
import { memorySandbox } from "../sandbox/memory.ts";
import type { SandboxBackend } from "../sandbox/sandbox.ts";
import type { Repeat, Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { runTests } from "../tool/builtin/run-tests.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";
import type { Rath } from "./rath.ts";

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leave-"));
  store = kept(memoryStore());
});
afterEach(() => rm(folder, { recursive: true }));

/** Says that it runs, and goes on when it is let: only the first one is stopped in the middle. */
const command = (): string => `touch ${folder}/runs; [ -e ${folder}/go ] || sleep 60; echo whole | tee out.txt`;
const running = (): Promise<true> => until("the command", () => existsSync(join(folder, "runs")));
const goOn = (): Promise<void> => writeFile(join(folder, "go"), "");

const run = (repeat: Repeat) =>
  tool({
    name: "run",
    description: "Runs the command.",
    input: { type: "object" },
    repeat,
    ...(repeat === "safe" ? { retry: { attempts: 2 } } : {}),
    run: async (_, { sandbox }) => (await sandbox.exec(command())).exitCode,
  });
const onHost = (session: Session): Session => session.to("host", { network: "all" });

class Work extends Workflow {
  readonly name = "work";
  readonly #forward: (session: Session) => Promise<Session>;
  constructor(forward: (session: Session) => Promise<Session>) {
    super();
    this.#forward = forward;
  }
  forward(session: Session): Promise<Session> {
    return this.#forward(session);
  }
}

const opened = (work: Workflow, sandboxes?: Record<string, SandboxBackend>): Rath =>
  testRath({ store, workflows: { work }, ...(sandboxes === undefined ? {} : { sandboxes }) });

/** A run that is left while its command runs, by a Rath that is closed or a worker that drains. */
async function left(work: Workflow, how: "closed" | "drained"): Promise<string> {
  const rath = opened(work);
  const { id } = await rath.run("work", rath.session("go"), { queue: how === "drained" });
  if (how === "closed") await running();
  else {
    const stop = new AbortController();
    const working = rath.work({ signal: stop.signal, drain: "20ms" });
    await running();
    stop.abort();
    await working;
  }
  await rath.close();
  await goOn();
  return id;
}

describe("a command that runs when its run is left", () => {
  // Mutant: the execution is not marked before its sandboxes are closed.
  test.each([
    ["safe", "closed"],
    ["keyed", "closed"],
    ["safe", "drained"],
  ] as const)("is repeated: %s, %s", async (repeat, how) => {
    const work = new Work((session) => onHost(session).call(run(repeat), {}));
    const id = await left(work, how);
    await using rath = opened(work);
    const session = await (await rath.resume(id)).result();
    expect(session.calls.map(({ outcome }) => outcome)).toEqual([{ type: "ok", value: 0 }]);
    expect(await session.files.text("out.txt")).toBe("whole\n");
  });

  test("is unknown when it may happen once", async () => {
    const work = new Work((session) => onHost(session).call(run("once"), {}));
    const id = await left(work, "closed");
    await using rath = opened(work);
    const settled = await (await rath.resume(id)).settle();
    expect(settled).toMatchObject({ status: "waiting", pending: [{ kind: "unknown" }] });
  });

  test("fails no check", async () => {
    const work = new Work((session) => onHost(session).check("tests", runTests(command())));
    const id = await left(work, "closed");
    await using rath = opened(work);
    const { checks } = await (await rath.resume(id)).result();
    expect(checks).toMatchObject([{ name: "tests", passed: true }]);
  });

  test.each<readonly [string, (session: Session) => Promise<Session>]>([
    ["outside a workflow", (session) => session.call(run("safe"), {})],
    ["in a workflow that was called directly", (session) => new Work((inner) => inner.call(run("safe"), {})).forward(session)],
  ])("has no result %s, and who waits for it is told", async (_, start) => {
    const one = testRath({ store });
    const placed = await one.save(onHost(one.session("go")));
    const waiting = start(placed).catch((error: unknown) => error);
    await running();
    await one.close();
    expect(await waiting).toMatchObject({ code: "rath.closed" });
    await using two = testRath({ store });
    const kinds = [...(await two.open(placed.id)).events()].map(({ kind }) => kind);
    expect(kinds.at(-1)).toBe("tool.started");
  });

  // Mutant: nothing that ends while a run is left has a result.
  test("takes nothing from what ends beside it without a sandbox", async () => {
    let use = (): void => {};
    const used = new Promise<void>((resolve) => {
      use = resolve;
    });
    let close = (): void => {};
    const closing = new Promise<void>((resolve) => {
      close = resolve;
    });
    const sandboxes = { slow: slowToClose(use, close) };
    let done = 0;
    const work = new Work(async (session) => {
      void session.fork("placed").to("slow", {}).call(run("safe"), {});
      return session.fork("beside").do("beside", () => closing.then(() => ++done), { repeat: "safe" });
    });
    const one = opened(work, sandboxes);
    const { id } = await one.run("work", one.session("go"));
    await used;
    await one.close();
    await using two = opened(work, sandboxes);
    expect((await (await two.resume(id)).result()).output).toBe(1);
    expect(done).toBe(1);
  });
});

/** Says when a command has run in it and when it is closed, and takes its time to close. */
function slowToClose(used: () => void, closing: () => void): SandboxBackend {
  const memory = memorySandbox();
  const open: SandboxBackend["open"] = async (spec) => {
    const sandbox = await memory.open(spec);
    const exec = (): Promise<never> => {
      used();
      return new Promise(() => {});
    };
    const dispose = async (): Promise<void> => {
      closing();
      await new Promise((resolve) => setTimeout(resolve, 50));
    };
    return Object.assign(Object.create(sandbox) as typeof sandbox, { id: sandbox.id, exec, [Symbol.asyncDispose]: dispose });
  };
  return { ...memory, kind: "slow", open };
}
