/** Sandboxes are opened when they are needed and closed by whoever ends, also where both happen at once. */
import { describe, expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import { memorySandbox } from "../../src/sandbox/memory.ts";
import type { OpenSandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import type { CommandResult, Session, ToolContext } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { shell } from "../../src/tool/builtin/tools.ts";
import { tool } from "../../src/tool/tool.ts";
import { Flow } from "../support/flow.ts";
import { until } from "../support/other-process.ts";

interface Counts {
  readonly backend: SandboxBackend;
  readonly open: Set<string>;
  opened: number;
  closed: number;
  readonly ran: string[];
}

/** A backend that says which of its sandboxes are open, and opens one when it may. */
function counted(mayOpen = Promise.resolve()): Counts {
  const memory = memorySandbox();
  const counts = { backend: memory, open: new Set<string>(), opened: 0, closed: 0, ran: [] as string[] };
  const open: SandboxBackend["open"] = async (spec) => {
    counts.opened++;
    await mayOpen;
    const sandbox = await memory.open(spec);
    counts.open.add(sandbox.id);
    return new Proxy(sandbox, {
      get: (target, name) => {
        if (name === Symbol.asyncDispose)
          return async () => {
            counts.open.delete(target.id);
            await target[Symbol.asyncDispose]();
            counts.closed++;
          };
        if (name === "exec")
          return (...[command, options]: Parameters<OpenSandbox["exec"]>) => {
            counts.ran.push(String(command));
            return target.exec(command, options);
          };
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  };
  counts.backend = { ...memory, kind: "counted", open };
  return counts;
}

function acts(name: string, run: (context: ToolContext) => Promise<unknown>, more: object = {}) {
  return tool({ name, description: name, input: { type: "object" }, writes: "files", run: (_, context) => run(context), ...more });
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("a sandbox", () => {
  test("that is only just opening when its run is cancelled is closed all the same", async () => {
    let goOn = (): void => {};
    const counts = counted(
      new Promise<void>((resolve) => {
        goOn = resolve;
      }),
    );
    await using rath = testRath({ sandboxes: { counted: counts.backend } });
    const run = await rath.run(new Flow((session) => session.call(shell, { command: "true" })), rath.session("go").to("counted", {}));
    await until("the opening", () => counts.opened > 0);
    const cancelling = run.cancel("enough");
    await sleep(50);
    goOn();
    await cancelling;
    expect((await run.settle()).status).toBe("cancelled");
    await until("its end", () => counts.closed === 1);
    expect([counts.opened, ...counts.open]).toEqual([1]);
  });

  test("that was put away while a tool held it is opened again and closed with its run", async () => {
    const counts = counted();
    let waiting = true;
    const slow = acts("slow", async ({ sandbox }) => {
      while (waiting) await sleep(5);
      return (await sandbox.exec("cat mine")).stdout;
    });
    const flow = new Flow(async (session) => {
      const first = await session.fork("slow").call(shell, { command: "echo here > mine" });
      const held = first.call(slow, {});
      for (let n = 0; n < 12; n++) await session.fork(`f${n}`).call(shell, { command: "true" });
      waiting = false;
      return held;
    });
    await using rath = testRath({ sandboxes: { counted: counts.backend } });
    const done = await (await rath.run(flow, rath.session("go").to("counted", {}))).result();
    expect(done.output).toBe("here\n");
    expect(counts.opened).toBeGreaterThan(13);
    expect([...counts.open]).toEqual([]);
  });

  test("is not used by an effect that ended while it waited for its turn", async () => {
    const counts = counted();
    let hastySignal: AbortSignal | undefined;
    const long = acts(
      "long",
      async ({ sandbox }) => {
        await sandbox.exec("echo long > long");
        await until("the end of the other's time", () => hastySignal?.aborted);
        return "long";
      },
      { resource: () => "file:long" }, // who does not say which files it changes runs alone
    );
    const hasten = ({ sandbox, signal }: ToolContext) => {
      hastySignal = signal;
      return sandbox.exec("echo hasty > hasty");
    };
    const hasty = acts("hasty", hasten, { timeout: "50ms", resource: () => "file:hasty" });
    const agent = new Agent({
      name: "both",
      model: scripted(
        {
          calls: [
            { tool: "long", input: {} },
            { tool: "hasty", input: {} },
          ],
        },
        "done",
      ),
      tools: [long, hasty],
    });
    await using rath = testRath({ sandboxes: { counted: counts.backend } });
    const done = await agent.forward(rath.session("go").to("counted", {}));
    expect(done.calls.map(({ outcome }) => outcome.type)).toEqual(["ok", "error"]);
    await sleep(100);
    expect(counts.ran).toEqual(["echo long > long"]);
    const after = await done.call(shell, { command: "ls" });
    expect((after.output as CommandResult).stdout).toBe("long\n");
  });

  test("is not opened for an effect whose run has ended", async () => {
    const counts = counted();
    let [begun, ended] = [false, false];
    const late = acts("late", async ({ sandbox }) => {
      begun = true;
      while (!ended) await sleep(5);
      return sandbox.exec("echo late > late");
    });
    const later = acts("later", async (context) => {
      begun = true;
      while (!ended) await sleep(5);
      return context.sandbox.exec("echo later > later");
    });
    await using rath = testRath({ sandboxes: { counted: counts.backend } });
    for (const straggler of [late, later]) {
      [begun, ended] = [false, false];
      const flow = new Flow(async (session: Session) => {
        const opened = await session.call(shell, { command: "true" });
        return opened.call(straggler, {});
      });
      const run = await rath.run(flow, rath.session("go").to("counted", {}));
      await until("the straggler", () => begun);
      await run.cancel("enough");
      ended = true;
      await sleep(100);
    }
    expect(counts.ran).toEqual(["true", "true"]);
    expect([...counts.open]).toEqual([]);
  });
});
