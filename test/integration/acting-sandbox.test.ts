/** Effects in a real sandbox: what each one changed, what failed attempts leave, what stops a command, and that nothing stays open. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile as writeHostFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { RathError } from "../../src/session/errors.ts";
import type { CommandResult, Session, ToolContext } from "../../src/session/session.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { editFile, readFile, shell, writeFile } from "../../src/tool/builtin/tools.ts";
import { tool } from "../../src/tool/tool.ts";
import { builtDoor } from "../support/built.ts";
import { Flow } from "../support/flow.ts";
import { leftIn, processesWith, whyNoLocal } from "../support/leftovers.ts";
import { until } from "../support/other-process.ts";

const noLocal = await whyNoLocal();
let folder: string;
let stores = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rath-acting-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function fresh(): { readonly store: string; readonly home: string; readonly rath: Rath } {
  const store = join(folder, `store-${stores++}.db`);
  return { store, home: `${store}-workspaces`, rath: openrath({ store }) };
}

/** A tool that does what it is given, on files alone. */
function acts(name: string, run: (context: ToolContext) => Promise<unknown>, more: object = {}) {
  return tool({ name, description: name, input: { type: "object" }, writes: "files", run: (_, context) => run(context), ...more });
}

async function listed(session: Session): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const path of session.files.list()) paths.push(path);
  return paths;
}

async function journal(store: string, run: string): Promise<readonly string[]> {
  await using opened = sqliteStore(store);
  const kinds: string[] = [];
  for await (const { envelope } of opened.events({ session: run })) kinds.push(JSON.parse(Buffer.from(envelope).toString()).kind as string);
  return kinds;
}

describe.skipIf(noLocal !== undefined)("calls of one round", () => {
  test("change exactly what each of them wrote, and calls on one path run in their order", async () => {
    const { rath } = fresh();
    const writes = Array.from({ length: 20 }, (_, n) => ({ tool: "write_file", input: { path: `d${n % 3}/f${n}`, content: `${n}\n` } }));
    const round = [
      { tool: "write_file", input: { path: "same", content: "first\n" } },
      ...writes,
      { tool: "edit_file", input: { path: "same", find: "first", replace: "second" } },
      { tool: "edit_file", input: { path: "same", find: "second", replace: "third" } },
      { tool: "read_file", input: { path: "same" } },
      { tool: "shell", input: { command: "cat same d*/* | sort -n | tail -1; echo shell > by-shell" } },
      { tool: "write_file", input: { path: "same", content: "last\n" } },
      { tool: "read_file", input: { path: "same" } },
    ];
    const agent = new Agent({ name: "writer", model: scripted({ calls: round }, "done"), tools: [shell, readFile, writeFile, editFile] });
    const done = await agent.forward(rath.session("go").to("local", {}));
    const { calls } = done;
    expect(calls.map(({ outcome }) => outcome.type)).toEqual(round.map(() => "ok"));
    const changed = calls.map(({ changes }) => changes.map(({ path, kind }) => `${kind} ${path}`));
    const expected = [
      ["added same"],
      ...writes.map(({ input }) => [`added ${input.path}`]),
      ["changed same"],
      ["changed same"],
      [],
      ["added by-shell"],
      ["changed same"],
      [],
    ];
    const byInput = new Map(calls.map(({ input }, index) => [JSON.stringify(input) + index, changed[index]]));
    expect([...byInput.values()]).toEqual(expected);
    const values = calls.map(({ outcome }) => (outcome as { readonly value: unknown }).value);
    expect(values[23]).toBe("third\n");
    expect((values[24] as CommandResult).stdout).toBe("19\n");
    expect(values[26]).toBe("last\n");
    expect((await listed(done)).length).toBe(22);
    expect(await done.files.text("same")).toBe("last\n");
    await rath.close();
  });
});

describe.skipIf(noLocal !== undefined)("what one effect does at the same time", () => {
  test("keeps all that its commands and writes left, whichever ends first", async () => {
    const { rath, home } = fresh();
    const both = acts("both", async ({ sandbox }) => {
      const command = sandbox.exec("sleep 0.3; echo late > late; test -e b && echo saw b");
      await new Promise((resolve) => setTimeout(resolve, 100));
      await Promise.all([sandbox.write("b", "written"), sandbox.exec("echo other > other"), command]);
    });
    const done = await rath.session("go").to("local", {}).call(both, {});
    expect(await listed(done)).toEqual(["b", "late", "other"]);
    await rath.close();
    expect(await leftIn(home)).toEqual([]);
  });

  test("opens one sandbox for commands that begin together", async () => {
    const { rath, store, home } = fresh();
    const together = acts("together", ({ sandbox }) => Promise.all(["a", "b", "c"].map((name) => sandbox.exec(`echo ${name} > ${name}`))));
    const run = await rath.run(new Flow((session) => session.call(together, {})), rath.session("go").to("local", {}));
    expect(await listed(await run.result())).toEqual(["a", "b", "c"]);
    await rath.close();
    const kinds = await journal(store, run.id);
    expect(kinds.filter((kind) => kind.startsWith("sandbox."))).toEqual(["sandbox.opened", "sandbox.closed"]);
    expect(await leftIn(home)).toEqual([]);
  });

  test("a read beside a running command does not lose what that writes afterwards", async () => {
    const { rath } = fresh();
    const reads = acts("reads", async ({ sandbox }) => {
      await sandbox.write("log", "old");
      const command = sandbox.exec("echo early > early; sleep 0.4; echo late > late");
      await new Promise((resolve) => setTimeout(resolve, 200));
      await sandbox.read("log");
      await command;
    });
    const done = await rath.session("go").to("local", {}).call(reads, {});
    expect(await listed(done)).toEqual(["early", "late", "log"]);
    await rath.close();
  });
});

describe.skipIf(noLocal !== undefined)("many branches", () => {
  test("open and close as many sandboxes, also when more are in use than are kept", { timeout: 60_000 }, async () => {
    const { rath, store, home } = fresh();
    const forks = new Flow(async (session) => {
      const base = await session.call(writeFile, { path: "base", content: "" });
      const ends = await Promise.all(
        Array.from({ length: 14 }, async (_, n) => {
          const first = await base.fork(`f${n}`).call(shell, { command: `echo ${n} > mine` });
          return first.call(shell, { command: "cat mine" });
        }),
      );
      expect(ends.map((end) => (end.output as CommandResult).stdout)).toEqual(ends.map((_, n) => `${n}\n`));
      return base;
    });
    const run = await rath.run(forks, rath.session("go").to("local", {}));
    await run.result();
    await rath.close();
    const kinds = await journal(store, run.id);
    const count = (kind: string): number => kinds.filter((one) => one === kind).length;
    expect(count("sandbox.closed")).toBe(count("sandbox.opened"));
    expect(await leftIn(home)).toEqual([]);
  });
});

describe.skipIf(noLocal !== undefined)("an attempt that failed halfway", () => {
  test("leaves nothing to the next one", async () => {
    const { rath } = fresh();
    let attempts = 0;
    const seen: string[] = [];
    const flaky = acts(
      "flaky",
      async ({ sandbox }) => {
        attempts++;
        seen.push((await sandbox.exec("ls; echo command > by-command; mkdir d; touch d/x; rm -f base")).stdout);
        await sandbox.write(`written-${attempts}`, "");
        if (attempts < 3) throw new Error("halfway");
        return "done";
      },
      { retry: { attempts: 3 } },
    );
    const base = await rath.session("go").to("local", {}).call(writeFile, { path: "base", content: "" });
    const done = await base.call(flaky, {});
    expect(seen).toEqual(["base\n", "base\n", "base\n"]);
    expect(await listed(done)).toEqual(["by-command", "d/x", "written-3"]);
    expect(done.calls.at(-1)?.changes.map(({ path }) => path)).toEqual(["base", "by-command", "d/x", "written-3"]);
    await rath.close();
  });
});

describe.skipIf(noLocal !== undefined)("a command that is stopped", () => {
  const long = (marker: string) => `echo begun > begun; sleep 88 & sleep 99.${marker}; echo never > never`;

  async function begun(marker: string): Promise<void> {
    await until("the command", () => processesWith(`sleep 99.${marker}`).length > 0);
  }
  async function dead(marker: string): Promise<number> {
    const from = performance.now();
    await until("its end", () => processesWith(`99.${marker}`).length === 0);
    return performance.now() - from;
  }

  test("by the end of its time is a result, and the session goes on with what it had written", async () => {
    const { rath } = fresh();
    const done = await rath
      .session("go")
      .to("local", {})
      .call(shell, { command: long("1001"), timeout: 0.5 });
    expect(done.output).toMatchObject({ exitCode: 137, signal: "SIGKILL", stopped: "time" });
    expect(await dead("1001")).toBeLessThan(1000);
    const after = await done.call(shell, { command: "ls" });
    expect((after.output as CommandResult).stdout).toBe("begun\n");
    await rath.close();
  });

  test("by the time of its tool leaves nothing, and the session goes on", async () => {
    const { rath } = fresh();
    const timed = acts("timed", ({ sandbox }) => sandbox.exec(long("1002")), { timeout: "500ms" });
    const base = rath.session("go").to("local", {});
    const failed = (await base.call(timed, {}).catch((error: unknown) => error)) as RathError;
    expect(RathError.is(failed, "effect.failed")).toBe(true);
    expect(await dead("1002")).toBeLessThan(1000);
    const after = await (failed.session as Session).call(shell, { command: "ls; echo on" });
    expect((after.output as CommandResult).stdout).toMatch(/^(begun\n)?on\n$/);
    expect(failed.session?.calls[0]).toMatchObject({ outcome: { type: "error" } });
    await rath.close();
  });

  test("by the time of its tool while its sandbox is only just opening keeps nobody from the files", async () => {
    for (const timeout of ["1ms", "20ms", "60ms", "100ms"]) {
      const { rath } = fresh();
      const timed = acts("timed", ({ sandbox }) => sandbox.exec(long("1005")), { timeout });
      const failed = (await rath
        .session("go")
        .to("local", {})
        .call(timed, {})
        .catch((error: unknown) => error)) as RathError;
      expect(RathError.is(failed, "effect.failed")).toBe(true);
      const after = await (failed.session as Session).call(shell, { command: "echo on" });
      expect((after.output as CommandResult).stdout).toBe("on\n");
      await rath.close();
    }
  });

  test("by cancelling its run is dead within a second, and says so", async () => {
    const { rath, home } = fresh();
    const run = await rath.run(new Flow((session) => session.call(shell, { command: long("1003") })), rath.session("go").to("local", {}));
    await begun("1003");
    const cancelling = run.cancel("enough");
    expect(await dead("1003")).toBeLessThan(1000);
    await cancelling;
    const settled = await run.settle();
    expect(settled.status).toBe("cancelled");
    const session = await rath.open(settled.session.id);
    expect(session.calls[0]?.outcome.type).toBe("cancelled");
    const after = await session.call(shell, { command: "echo on" });
    expect((after.output as CommandResult).stdout).toBe("on\n");
    await rath.close();
    expect(await leftIn(home)).toEqual([]);
  });

  test("by a signal is dead within a second, also when its sandbox is only just opening", async () => {
    const { rath, store, home } = fresh();
    for (const waitMs of [0, 20, 60, 120, 200, 300]) {
      const stop = new AbortController();
      const flow = new Flow((session) => session.call(shell, { command: long("1004") }));
      const run = await rath.run(flow, rath.session("go").to("local", {}), { signal: stop.signal });
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      stop.abort();
      expect((await run.settle()).status).toBe("cancelled");
      expect(await dead("1004")).toBeLessThan(1000);
      const kinds = await until("the sandbox to be closed", async () => {
        const said = await journal(store, run.id);
        const [opened, closed] = ["sandbox.opened", "sandbox.closed"].map((kind) => said.filter((one) => one === kind).length);
        return opened === closed && said;
      });
      expect(kinds).toContain("run.ended");
    }
    await rath.close();
    expect(await leftIn(home)).toEqual([]);
  });
});

describe.skipIf(noLocal !== undefined)("a program that used a sandbox", () => {
  test.each(["closed", "left open"])("ends by itself when its Rath was %s", { timeout: 30_000 }, async (how) => {
    const place = join(folder, `program-${how.replace(" ", "-")}`);
    const text = `
      import { openrath } from ${JSON.stringify(await builtDoor())};
      import { shell } from ${JSON.stringify(await builtDoor("openrath/tools"))};
      const rath = openrath({ store: ${JSON.stringify(`${place}.db`)} });
      const done = await rath.session("go").to("local", {}).call(shell, { command: "echo hi" });
      ${how === "closed" ? "await rath.close();" : ""}
      console.log("last line", done.output.stdout);
    `;
    await writeHostFile(`${place}.mjs`, text);
    const child = spawn(process.execPath, [`${place}.mjs`], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, TMPDIR: folder },
    });
    const [bytes] = (await once(child.stdout, "data")) as [Buffer];
    expect(bytes.toString()).toContain("last line hi");
    const from = performance.now();
    const [code] = (await once(child, "exit")) as [number | null];
    expect(code).toBe(0);
    expect(performance.now() - from).toBeLessThan(2000);
    await until("the end of its helpers", () => processesWith(`${place}.db`).length === 0);
  });
});
