/** Background processes of the local sandbox: seen, reached, stopped, and never left running. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { CommandResult, Session, Tool } from "../../src/session/session.ts";
import { shell as declared, writeFile } from "../../src/tool/builtin/tools.ts";
import { leftIn, processesWith, whyNoLocal } from "../support/leftovers.ts";
import { until } from "../support/other-process.ts";

const noLocal = await whyNoLocal();
interface Started {
  readonly process: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode?: number;
}
/** As models call it. */
const shell = declared as unknown as Tool<object, CommandResult & Started>;

let folder: string;
let stores = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rath-background-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
function fresh(): { readonly rath: Rath; readonly home: string } {
  const store = join(folder, `store-${stores++}.db`);
  return { rath: openrath({ store }), home: `${store}-workspaces` };
}

/** Found among all processes of the machine, and of nobody else's. */
const mark = (name: string) => `${name}${process.pid}`;
const server = (marker: string) =>
  `exec node -e 'require("http").createServer((q, s) => s.end(require("fs").readFileSync("page"))).listen(8099, () => console.log("up"))' ${marker}`;
const get = `node -e 'fetch("http://127.0.0.1:8099").then((r) => r.text()).then(console.log, (e) => console.log("nobody", e.cause.code))'`;
const running = (session: Session) => session.pending.filter(({ kind }) => kind === "process");
/** Goes on once there is a file `go`. */
const whenTold = "while [ ! -e go ]; do sleep 0.05; done";

describe.skipIf(noLocal !== undefined)("a background process", () => {
  test("is pending, is reached on its port, sees the files, and is gone when it is stopped", { timeout: 60_000 }, async () => {
    const { rath, home } = fresh();
    const base = await rath.session("go").to("local", {}).call(writeFile, { path: "page", content: "hello" });
    const started = await base.call(shell, { command: server(mark("bg-1")), background: true });
    const id = started.output.process;
    expect(running(started)).toMatchObject([{ kind: "process", process: id, session: base.id }]);
    const up = await until("the server", async () => {
      const asked = await started.fork("ask").call(shell, { command: "true" });
      return asked && processesWith(mark("bg-1")).length > 0;
    });
    expect(up).toBe(true);
    let reached = await started.call(shell, { command: `sleep 0.3; ${get}` });
    expect(reached.output.stdout).toBe("hello\n");
    reached = await reached.call(shell, { command: `echo -n changed > page; ${get}` });
    expect(reached.output.stdout).toBe("changed\n");
    const read = await reached.call(shell, { process: id });
    expect(read.output).toMatchObject({ process: id });
    expect(`${started.output.stdout}${read.output.stdout}`).toBe("up\n");
    const stopped = await read.call(shell, { process: id, stop: true });
    expect(stopped.output).toMatchObject({ exitCode: 137 });
    expect(running(stopped)).toEqual([]);
    expect(processesWith(mark("bg-1"))).toEqual([]);
    const after = await stopped.call(shell, { command: get });
    expect(after.output.stdout).toBe("nobody ECONNREFUSED\n");
    await rath.close();
    expect(await leftIn(home)).toEqual([]);
  });

  test("cannot write to the workspace, and is not inherited by forks", { timeout: 60_000 }, async () => {
    const { rath } = fresh();
    const base = await rath.session("go").to("local", {}).call(writeFile, { path: "page", content: "mine" });
    const writer = `echo bad > bad; echo worse >> page; rm -f page; exec sleep ${mark("66.61")}`;
    const started = await base.call(shell, { command: writer, background: true });
    expect(started.output.stderr).toMatch(/Read-only file system/);
    expect(started.calls.at(-1)?.changes).toEqual([]);
    const fork = started.fork("other");
    expect(running(fork)).toEqual([]);
    await expect(fork.call(shell, { process: started.output.process })).rejects.toThrow(/no background process/);
    const serving = await started.call(shell, { command: server(mark("bg-2")), background: true });
    const seen = await serving.fork("outside").call(shell, { command: `${get}; cat /proc/[0-9]*/cmdline | tr '\\0' ' '` });
    expect(seen.output.stdout).toContain("nobody");
    expect(seen.output.stdout).not.toContain(mark("66.61"));
    const after = await serving.call(shell, { command: "ls; cat page" });
    expect(after.output.stdout).toBe("page\nmine");
    expect(running(after).length).toBe(2);
    await rath.close();
    expect([...processesWith(mark("66.61")), ...processesWith(mark("bg-2"))]).toEqual([]);
  });

  test("that ends at once is not pending, and what it wrote is read after others looked", { timeout: 60_000 }, async () => {
    const { rath } = fresh();
    const started = await rath.session("go").to("local", {}).call(shell, { command: "echo failed >&2; exit 1", background: true });
    expect(started.output).toMatchObject({ exitCode: 1, stderr: "failed\n" });
    expect(running(started)).toEqual([]);
    const slow = await started.call(shell, { command: `${whenTold}; echo crashed >&2; exit 2`, background: true });
    let between = await slow.call(shell, { command: "touch go; sleep 0.2; echo between" });
    for (let left = 100; running(between).length > 0 && left > 0; left--) between = await between.call(shell, { command: "sleep 0.1" });
    expect(running(between)).toEqual([]);
    const read = await between.call(shell, { process: slow.output.process });
    expect(read.output).toMatchObject({ exitCode: 2, stderr: "crashed\n" });
    await rath.close();
  });

  test("that ends by itself is not pending any more, once somebody looked", { timeout: 60_000 }, async () => {
    const { rath } = fresh();
    const started = await rath
      .session("go")
      .to("local", {})
      .call(shell, { command: `${whenTold}; echo over; exit 3`, background: true });
    expect(running(started).length).toBe(1);
    const { process } = started.output;
    let after = await (await started.call(shell, { command: "touch go" })).call(shell, { process });
    let { stdout } = after.output;
    // It may end between a look at what it printed and the end of that call, which then says that it ended.
    for (let left = 400; after.output.exitCode === undefined && left > 0; left--) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      after = await after.call(shell, { process });
      stdout += after.output.stdout;
    }
    expect([after.output.exitCode, stdout]).toEqual([3, "over\n"]);
    expect(running(after)).toEqual([]);
    await rath.close();
  });

  test("of a process that is gone is not there in the next one, which says so", { timeout: 60_000 }, async () => {
    const store = join(folder, `store-${stores++}.db`);
    const first = openrath({ store });
    const started = await first
      .session("go")
      .to("local", {})
      .call(shell, { command: `exec sleep ${mark("66.62")}`, background: true });
    await first.close();
    expect(processesWith(mark("66.62"))).toEqual([]);
    await using rath = openrath({ store });
    const opened = await rath.open(started.id);
    await expect(opened.call(shell, { process: started.output.process })).rejects.toThrow(/no background process/);
    const after = await (await rath.open(started.id)).call(shell, { command: "echo on" });
    expect(after.output.stdout).toBe("on\n");
    expect(running(after)).toEqual([]);
  });
});
