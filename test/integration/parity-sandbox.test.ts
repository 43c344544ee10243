/** What docs/parity.md and docs/claims.md say of sandboxes and files, and the questions about them, asked as a user asks. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blame } from "../../src/audit/audit.ts";
import { Agent, type Event, RathError, type Run, replay, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import { testRath } from "../../src/testing/testing.ts";
import {
  coding,
  editFile,
  listFiles,
  writeFile as put,
  readFile as read,
  runCode,
  searchFiles,
  shell,
} from "../../src/tool/builtin/tools.ts";
import { noLocal } from "../support/local.ts";

let repo = "";
beforeAll(async () => {
  repo = await mkdtemp(join(tmpdir(), "openrath-parity-"));
  await mkdir(join(repo, "src"));
  await writeFile(join(repo, "src/a.txt"), "one\ntwo\nthree\n");
  await writeFile(join(repo, "README"), "read me\n");
});
afterAll(() => rm(repo, { recursive: true, force: true }));

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const codeOf = async (promise: Promise<unknown>): Promise<string | undefined> => {
  const error = await failure(promise);
  return RathError.is(error) ? error.code : undefined;
};

/** The run's own log, read as anybody reads it. */
async function events(run: Run): Promise<readonly Event[]> {
  const found: Event[] = [];
  for await (const part of run.stream()) if (part.type === "event") found.push(part.event);
  return found;
}

class Two extends Workflow {
  readonly name = "two";
  async forward(session: Session): Promise<Session> {
    const [a, b] = await Promise.all(["a", "b"].map((label) => session.fork(label).call(shell, { command: `echo ${label} > ${label}` })));
    return (a as Session).merge(b as Session);
  }
}

describe("a placement", () => {
  test("names a kind, a directory, an environment, a network and limits; what opens says how far it isolates", async () => {
    await using rath = testRath();
    const spec = { workspace: repo, env: { A: "1" }, network: "none", limits: { time: "5s", output: "1mb" } } as const;
    const placed = rath.session("Go.").to("memory", spec);
    expect(placed.placement).toEqual({ sandbox: "memory", ...spec, isolation: undefined, id: undefined });
    const after = await placed.call(shell, { command: "echo $A" });
    expect(after.output).toMatchObject({ exitCode: 0, stdout: "1\n" });
    expect(after.placement).toMatchObject({ sandbox: "memory", ...spec, isolation: "process", id: after.calls[0]?.sandbox });
    expect(() => placed.to("memory", { netwrok: "none" } as never)).toThrow(/placement\.netwrok is not known/);
  });

  test("that is not part of this version or not known is an error by name, before anything runs", async () => {
    await using rath = testRath();
    for (const kind of ["docker", "e2b", "opensandbox", "cube"]) {
      const error = await failure(rath.session("Go.").to(kind).call(shell, { command: "true" }));
      expect(RathError.is(error) && [error.code, error.message]).toEqual([
        expect.stringMatching(/^(sandbox.unavailable|effect.failed)$/),
        expect.stringContaining(`Placement "${kind}" is not part of this version of openrath: use one of local, memory, host`),
      ]);
    }
    await expect(rath.session("Go.").to("nowhere").call(shell, { command: "true" })).rejects.toThrow(
      /There is no placement "nowhere" here/,
    );
    await expect(rath.session("Go.").call(shell, { command: "true" })).rejects.toThrow(/is not placed anywhere: say session\.to/);
  });

  test("is an event, and the history of placements is on record (G11)", async () => {
    await using rath = testRath();
    const first = await rath.session("Go.").to("memory", { workspace: repo }).call(shell, { command: "true" });
    const second = await first.to("memory", { env: { B: "2" } }).call(shell, { command: "echo $B" });
    expect([first.placement?.workspace, second.placement?.env, second.output.stdout]).toEqual([repo, { B: "2" }, "2\n"]);
    const history = [...second.events()].flatMap((event) => (event.kind === "placement.changed" ? [event.data] : []));
    expect(history).toMatchObject([
      { sandbox: "memory", spec: { workspace: repo } },
      { sandbox: "memory", spec: { env: { B: "2" } } },
    ]);
    expect(first.at(first.step).placement?.env).toBeUndefined();
    expect(second.calls.map(({ sandbox }) => sandbox)).toEqual([first.placement?.id, second.placement?.id]);
    expect(first.placement?.id).not.toBe(second.placement?.id);
  });

  test("of another kind keeps a merge from being made, and nothing is changed (G6)", async () => {
    await using rath = testRath();
    const base = rath.session("Go.").to("memory", { workspace: repo });
    const here = await base.fork("here").call(put, { path: "a", content: "a" });
    const there = await base.fork("there").to("host", { workspace: repo }).call(put, { path: "b", content: "b" });
    await expect(here.merge(there)).rejects.toMatchObject({ code: "merge.refused" });
    expect((await rath.open(here.id)).head).toBe(here.head);
    const same = await base.fork("same").call(put, { path: "c", content: "c" });
    expect(await (await here.merge(same)).files.text("c")).toBe("c");
  });
});

describe("a sandbox", () => {
  test("runs commands and reads, writes, lists and removes files; each failure has a name or is a result", async () => {
    await using rath = testRath();
    const all = tool({
      name: "all",
      description: "Does everything.",
      input: { type: "object" },
      writes: "files",
      run: async (_, { sandbox }) => {
        await sandbox.write("new/file.txt", "text");
        const names: string[] = [];
        for await (const { path, kind } of sandbox.list()) names.push(`${kind} ${path}`);
        await sandbox.remove("README");
        const failing = await sandbox.exec("echo out; echo err >&2; exit 3");
        const late = await sandbox.exec("sleep 60", { timeoutMs: 200 });
        return {
          text: Buffer.from(await sandbox.read("new/file.txt")).toString(),
          names: names.sort(),
          failing,
          late: late.stopped,
          codes: [
            await codeOf(sandbox.read("README")),
            await codeOf(sandbox.read("../../etc/passwd")),
            await codeOf(sandbox.write("/etc/x", "")),
          ],
        };
      },
    });
    const session = await rath.session("Go.").to("memory", { workspace: repo }).call(all, {});
    expect(session.output).toMatchObject({
      text: "text",
      names: ["directory new", "directory src", "file README"],
      failing: { exitCode: 3, stdout: "out\n", stderr: "err\n" },
      late: "time",
      codes: ["workspace.not-found", "sandbox.outside", "sandbox.outside"],
    });
    expect(session.calls[0]?.changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(["removed README", "added new/file.txt"]);
  });

  test("belongs to one branch, opens with its first command and closes with its run; who holds it is on record (Q26)", async () => {
    await using rath = testRath();
    const run = await rath.run(new Two(), rath.session("Go.").to("memory", { workspace: repo }));
    const session = await run.result();
    const log = await events(run);
    const opened = log.flatMap((event) => (event.kind === "sandbox.opened" ? [event.data] : []));
    const closed = log.flatMap((event) => (event.kind === "sandbox.closed" ? [event.data] : []));
    expect(opened).toMatchObject([{ sandbox: "memory", isolation: "process" }, { sandbox: "memory" }]);
    expect(new Set(opened.map((one) => one.session)).size).toBe(2);
    expect(closed.map(({ id }) => id).sort()).toEqual(opened.map(({ id }) => id).sort());
    expect(closed[0]?.reason).toBeTypeOf("string");
    expect([await session.files.text("a"), await session.files.text("b")]).toEqual(["a\n", "b\n"]);
  });

  test("tells what a command writes while it runs", async () => {
    await using rath = testRath();
    const agent = new Agent({ model: scripted({ calls: [{ tool: "shell", input: { command: "echo begun" } }] }, "done"), tools: coding });
    const stream = agent.stream(rath.session("Go.").to("memory", {}));
    const told: unknown[] = [];
    for await (const part of stream) if (part.type === "tool-progress") told.push(part.update);
    expect(told.join("")).toContain("begun");
    expect((await stream.result()).stop).toBe("finished");
  });

  test("leaves its files to whoever works on the session next", async () => {
    await using rath = testRath();
    const writer = new Agent({
      name: "writer",
      model: scripted({ calls: [{ tool: "write_file", input: { path: "n", content: "1\n" } }] }, "ok"),
      tools: coding,
    });
    const reader = new Agent({
      name: "reader",
      model: scripted({ calls: [{ tool: "shell", input: { command: "cat n" } }] }, "ok"),
      tools: coding,
    });
    const written = await writer.forward(rath.session("Go.").to("memory", { workspace: repo }));
    const seen = await reader.forward(written.say("And now?"));
    expect(seen.calls.at(-1)).toMatchObject({ by: "reader", outcome: { value: { stdout: "1\n" } } });
    expect(seen.placement).toMatchObject({ sandbox: "memory", workspace: repo });
    expect(String(await replay(written, writer))).toMatch(/^identical/);
  });
});

describe("tools", () => {
  test("the seven built-in ones act through the sandbox of their session, called by a program as by a model", async () => {
    await using rath = testRath();
    let session: Session = rath.session("Go.").to("memory", { workspace: repo });
    session = await session.call(put, { path: "b.txt", content: "hello\n" });
    session = await session.call(editFile, { path: "b.txt", find: "hello", replace: "hullo" });
    session = await session.call(read, { path: "b.txt" });
    session = await session.call(listFiles, {});
    session = await session.call(searchFiles, { pattern: "hullo" });
    session = await session.call(shell, { command: "wc -l < b.txt" });
    expect(session.calls.map(({ tool: name, outcome }) => [name, outcome.type])).toEqual(
      ["write_file", "edit_file", "read_file", "list_files", "search_files", "shell"].map((name) => [name, "ok"]),
    );
    expect(session.calls.every(({ acted }) => acted?.sandbox === "memory")).toBe(true);
    expect(await session.files.text("b.txt")).toBe("hullo\n");
    expect(coding.map(({ name }) => name)).toContain(runCode.name);
    const bare = new Agent({ model: scripted({ calls: [{ tool: "shell", input: { command: "true" } }] }, "no"), tools: [read] });
    expect((await bare.forward(rath.session("Go.").to("memory", {}))).calls[0]?.outcome.type).not.toBe("ok");
  });

  test("rules hold for paths after links and for every command of a line", async () => {
    await using rath = testRath({ policy: { paths: ["src"], commands: { allow: ["echo *", "cat *"] } } });
    const session = rath.session("Go.").to("memory", { workspace: repo });
    const outcomes = await Promise.all(
      [
        session.fork().call(read, { path: "src/a.txt" }),
        session.fork().call(read, { path: "README" }),
        session.fork().call(put, { path: "src/../README", content: "" }),
        session.fork().call(shell, { command: "echo hi" }),
        session.fork().call(shell, { command: "echo hi && rm -rf src" }),
        session.fork().call(shell, { command: "echo $(rm -rf src)" }),
      ].map(failure),
    );
    expect(outcomes.map((error) => (error === undefined ? "ok" : "refused"))).toEqual([
      "ok",
      "refused",
      "refused",
      "ok",
      "refused",
      "refused",
    ]);
  });

  test("evidence of a call: placement, sandbox, isolation, command, exit code, time, output, trees and changes (G7)", async () => {
    await using rath = testRath();
    const before = await rath.session("Go.").to("memory", { workspace: repo }).call(read, { path: "README" });
    const session = await before.call(shell, { command: "echo four >> src/a.txt; echo told; exit 2" });
    expect(session.calls.at(-1)).toMatchObject({
      tool: "shell",
      sandbox: session.placement?.id,
      changes: [{ path: "src/a.txt", kind: "changed", before: expect.stringMatching(/^[0-9a-f]{64}$/), after: expect.any(String) }],
      acted: {
        sandbox: "memory",
        id: session.placement?.id,
        isolation: "process",
        workspace: "mirror",
        before: before.files.hash,
        after: session.files.hash,
        commands: [{ command: expect.stringContaining("exit 2"), exitCode: 2, ms: expect.any(Number), stdout: "told\n", stderr: "" }],
      },
    });
  });
});

describe("questions", () => {
  const fixer = new Agent({
    name: "fixer",
    model: scripted(
      { calls: [{ tool: "edit_file", input: { path: "src/a.txt", find: "nothing like this", replace: "2" } }] },
      { calls: [{ tool: "edit_file", input: { path: "src/a.txt", find: "two", replace: "2" } }] },
      { calls: [{ tool: "shell", input: { command: "echo 4 >> src/a.txt" } }] },
      "It is fixed.",
    ),
    tools: coding,
  });

  test("which call modified which file, in which sandbox and on which backend (Q2, Q7, Q11)", async () => {
    await using rath = testRath();
    const session = await fixer.forward(rath.session("Fix it.").to("memory", { workspace: repo }));
    const touched = session.calls.filter(({ changes }) => changes.some(({ path }) => path === "src/a.txt"));
    expect(touched).toMatchObject([
      { tool: "edit_file", by: "fixer", acted: { sandbox: "memory" } },
      { tool: "shell", by: "fixer", sandbox: session.placement?.id, acted: { sandbox: "memory", isolation: "process" } },
    ]);
    const lines = await blame(session, "src/a.txt");
    expect(
      lines.map(({ text, event }) => [text, event.kind === "tool.returned" ? session.at(event.id).calls.at(-1)?.id : event.kind]),
    ).toEqual([
      ["one", "placement.changed"],
      ["2", touched[0]?.id],
      ["three", "placement.changed"],
      ["4", touched[1]?.id],
    ]);
  });

  test("which agent, call and files produced an answer; arguments, result, diff, and what failed before (Q18, Q19)", async () => {
    await using rath = testRath();
    const start = await rath.session("Fix it.").to("memory", { workspace: repo }).call(read, { path: "README" });
    const session = await fixer.forward(start.say("Go."));
    const answer = session.messages.at(-1);
    expect([answer?.text, answer?.by, answer?.session]).toEqual(["It is fixed.", "fixer", session.id]);
    expect(session.at(answer?.event ?? "").files.hash).toBe(session.files.hash);
    expect(session.calls.slice(1)).toMatchObject([
      {
        tool: "edit_file",
        input: { find: "nothing like this" },
        outcome: { type: "error", message: expect.stringContaining("is not in src/a.txt") },
      },
      { tool: "edit_file", input: { find: "two", replace: "2" }, outcome: { type: "ok" } },
      { tool: "shell", outcome: { type: "ok", value: { exitCode: 0 } } },
    ]);
    const patch = await session.files.patch();
    expect(patch).toBe(await session.files.patch(start.files));
    expect(patch).toMatch(/^--- a\/src\/a\.txt\n\+\+\+ b\/src\/a\.txt\n@@[^\n]*\n one\n-two\n\+2\n three\n\+4\n/m);
    expect(await readFile(join(repo, "src/a.txt"), "utf8")).toBe("one\ntwo\nthree\n");
  });
});

describe.skipIf(noLocal !== undefined)("in local sandboxes", () => {
  test("forks never see each other's files, temporary files or processes, however they run (G10)", async () => {
    await using rath = testRath();
    const base = await rath.session("Go.").to("local", { workspace: repo }).call(put, { path: "n", content: "base\n" });
    const command = (label: string): string =>
      `echo ${label} > n; echo ${label} > /tmp/shared; sleep 0.4; exec -a work-${label} sleep 0.6 & sleep 0.6; cat n /tmp/shared; ls /tmp; cat /proc/[0-9]*/cmdline | tr '\\0' ' '`;
    const tries = await Promise.all(["left", "right"].map((label) => base.fork(label).call(shell, { command: command(label) })));
    for (const [index, label] of ["left", "right"].entries()) {
      const other = label === "left" ? "right" : "left";
      const { stdout } = (tries[index] as Session<{ readonly stdout: string }>).output;
      expect(stdout.startsWith(`${label}\n${label}\n`)).toBe(true);
      expect(stdout).toContain(`work-${label}`);
      expect(stdout).not.toContain(other);
      expect(await tries[index]?.files.text("n")).toBe(`${label}\n`);
    }
    expect(tries[0]?.calls.at(-1)?.sandbox).not.toBe(tries[1]?.calls.at(-1)?.sandbox);
    expect(await base.files.text("n")).toBe("base\n");
    expect(await (tries[0] as Session).conflicts(tries[1] as Session)).toMatchObject([{ kind: "file", path: "n" }]);
  });

  test("commands see no variable, file, process or network of the host, and the directory is only read", async () => {
    process.env["OPENRATH_PARITY_SECRET"] = "of the host";
    const outside = await mkdtemp(join(tmpdir(), "openrath-outside-"));
    await writeFile(join(outside, "secret"), "of the host");
    await using rath = testRath();
    const session = rath.session("Go.").to("local", { workspace: repo, env: { MINE: "1" } });
    const looked = await session.call(shell, {
      command: `env; cat ${outside}/secret; ls ${repo}; cat /etc/shadow; ls /home /root; echo "[$(ls /proc | grep -c '^[0-9]') $(tail -n +3 /proc/net/dev | cut -d: -f1 | xargs)]"; rm -rf ./*; ls`,
    });
    const { stdout, stderr } = looked.output;
    expect(stdout).toContain("MINE=1\n");
    expect(stdout).toMatch(/^\[\d lo\]$/m);
    expect(stdout + stderr).not.toMatch(/OPENRATH_PARITY_SECRET|of the host/);
    expect(await readFile(join(repo, "README"), "utf8")).toBe("read me\n");
    expect(looked.calls[0]?.acted).toMatchObject({ sandbox: "local", isolation: "namespace" });
    await expect(session.fork("read").call(read, { path: join(outside, "secret") })).rejects.toThrow(/outside/);
    delete process.env["OPENRATH_PARITY_SECRET"];
    await rm(outside, { recursive: true });
  });

  test("a command that goes on is listed as pending until it is stopped", async () => {
    await using rath = testRath();
    const begun = (session: Session) => session.calls[0]?.acted?.started?.[0]?.id;
    const pending: unknown[] = [];
    const server = new Agent({
      model: scripted(
        { calls: [{ tool: "shell", input: { command: "echo up; sleep 60", background: true } }] },
        (_, session) => {
          pending.push(...session.pending);
          return { calls: [{ tool: "shell", input: { process: begun(session), stop: true } }] };
        },
        { calls: [{ tool: "shell", input: { command: "echo free" } }] },
        "It is over.",
      ),
      tools: coding,
    });
    const over = await server.forward(rath.session("Serve.").to("local", {}));
    expect(pending).toMatchObject([{ kind: "process", process: begun(over), command: "echo up; sleep 60" }]);
    expect(over.calls[1]).toMatchObject({ outcome: { type: "ok", value: { process: begun(over), exitCode: expect.any(Number) } } });
    expect(over.calls.flatMap(({ acted }) => acted?.ended ?? [])).toMatchObject([{ id: begun(over) }]);
    expect([over.text, over.pending]).toEqual(["It is over.", []]);
  });

  test("run_code runs a program of a language, and host is marked as no isolation", async () => {
    await using rath = testRath();
    const local = await rath.session("Go.").to("local", {}).call(runCode, { language: "javascript", code: "console.log(6 * 7)" });
    expect(local.output).toMatchObject({ exitCode: 0, stdout: "42\n" });
    const host = await rath.session("Go.").to("host", { network: "all" }).call(shell, { command: "echo here" });
    expect(host.calls[0]?.acted).toMatchObject({ sandbox: "host", isolation: "none" });
  });
});
