import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { memorySandbox } from "../sandbox/memory.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";
import { replay } from "./replay.ts";
import { rerun } from "./rerun.ts";

const input = { type: "object", properties: { path: { type: "string" }, text: { type: "string" } } } as const;
type Written = { readonly path: string; readonly text: string };

const put = tool({
  name: "put",
  description: "Writes a file.",
  input,
  writes: "files",
  resource: (given) => `file:${(given as Written).path}`,
  run: async (given, { sandbox }) => sandbox.write((given as Written).path, (given as Written).text),
});
const run = tool({
  name: "run",
  description: "Runs a command.",
  input: { type: "object", properties: { command: { type: "string" } } },
  writes: "files",
  resource: () => "*",
  run: async (given, { sandbox }) => sandbox.exec((given as { readonly command: string }).command),
});

let repo: string;
beforeAll(async () => {
  repo = await mkdtemp(join(tmpdir(), "acting-"));
  await mkdir(join(repo, "src"));
  await writeFile(join(repo, "src/a.txt"), "one\ntwo\nthree\n");
  await writeFile(join(repo, "README"), "read me\n");
});
afterAll(() => rm(repo, { recursive: true, force: true }));

function code(error: unknown): string | undefined {
  return RathError.is(error) ? error.code : String(error);
}

describe("files of a session", () => {
  test("are taken from the directory at first use, and every call says what it changed", async () => {
    await using rath = testRath();
    const placed = rath.session("work").to("memory", { workspace: repo });
    const first = await placed.call(put, { path: "src/b.txt", text: "new\n" });
    const second = await first.call(run, { command: "echo four >> src/a.txt && rm README" });

    expect(await second.files.text("src/a.txt")).toBe("one\ntwo\nthree\nfour\n");
    expect(await first.files.text("src/a.txt")).toBe("one\ntwo\nthree\n");
    const paths: string[] = [];
    for await (const path of second.files.list()) paths.push(path);
    expect(paths).toEqual(["src/a.txt", "src/b.txt"]);
    const [a, b] = second.calls;
    expect(a?.changes).toMatchObject([{ path: "src/b.txt", kind: "added" }]);
    expect(b?.changes).toMatchObject([
      { path: "README", kind: "removed" },
      { path: "src/a.txt", kind: "changed" },
    ]);
    expect(b?.acted).toMatchObject({ sandbox: "memory", before: first.files.hash, after: second.files.hash });
    expect(b?.acted?.commands).toMatchObject([{ exitCode: 0, stdout: "" }]);
    expect(await second.files.changes(first.files)).toEqual(b?.changes);
    expect(await readFile(join(repo, "README"), "utf8")).toBe("read me\n");
  });

  test("are those of the step that is looked at", async () => {
    await using rath = testRath();
    let session: Session = rath.session("work").to("memory", { workspace: repo });
    for (const text of ["1", "2", "3"]) session = await session.call(put, { path: "n", text });
    const steps = session.calls.map(({ step }) => step + 1);
    expect(await Promise.all(steps.map((step) => session.at(step).files.text("n")))).toEqual(["1", "2", "3"]);
  });

  test("of forks are apart, and the parent's stay", async () => {
    await using rath = testRath();
    const base = await rath.session("work").to("memory", { workspace: repo }).call(put, { path: "x", text: "base" });
    const [a, b] = await Promise.all(
      ["a", "b"].map((label) => base.fork(label).call(run, { command: `echo ${label} > x; ls /tmp; echo ${label} > /tmp/mine` })),
    );
    expect(await a?.files.text("x")).toBe("a\n");
    expect(await b?.files.text("x")).toBe("b\n");
    expect(await base.files.text("x")).toBe("base");
    expect(b?.output).toMatchObject({ stdout: "" });
  });

  test("what a check writes is not kept", async () => {
    await using rath = testRath();
    const base = await rath.session("work").to("memory", { workspace: repo }).call(put, { path: "x", text: "base" });
    const checked = await base.check("tests", async ({ sandbox }) => {
      const { exitCode } = await sandbox.exec("echo report > coverage.txt; test -f x");
      return exitCode === 0;
    });
    expect(checked.checks).toMatchObject([{ passed: true }]);
    expect(checked.files.hash).toBe(base.files.hash);
    const after = await checked.call(run, { command: "ls" });
    expect((after.output as { stdout: string }).stdout).not.toContain("coverage");
  });

  test("a tool that throws keeps what it wrote before", async () => {
    await using rath = testRath();
    const half = tool({
      name: "half",
      description: "Fails halfway.",
      input: { type: "object" },
      writes: "files",
      run: async (_, { sandbox }) => {
        await sandbox.write("half", "written");
        throw new Error("no further");
      },
    });
    const failed = await rath
      .session("work")
      .to("memory", {})
      .call(half, {})
      .catch((error: RathError) => error);
    expect(code(failed)).toBe("effect.failed");
    expect(await (failed as RathError).session?.files.text("half")).toBe("written");
  });
});

describe("a placement", () => {
  test("is needed, known and named when it is not there", async () => {
    await using rath = testRath();
    const reasons = await Promise.all(
      [rath.session("x"), rath.session("x").to("nonsense"), rath.session("x").to("docker", { image: "node:22" })].map((session) =>
        session.call(put, { path: "a", text: "b" }).catch((error: RathError) => error.message),
      ),
    );
    expect(reasons).toEqual([
      expect.stringContaining("is not placed anywhere"),
      expect.stringContaining('There is no placement "nonsense" here: use one of local, memory, host'),
      expect.stringContaining('Placement "docker" is not part of this version'),
    ]);
  });

  test("refuses fields it does not know and directories that are not there", async () => {
    await using rath = testRath();
    expect(() => rath.session("x").to("memory", { netwrok: "none" } as never)).toThrow(/placement\.netwrok is not known/);
    const missing = rath.session("x").to("memory", { workspace: join(repo, "nowhere") });
    await expect(missing.call(put, { path: "a", text: "b" })).rejects.toThrow(/there is nothing/);
  });

  test("opening and closing are in the run's own log", async () => {
    const store = memoryStore();
    class Work extends Workflow {
      forward(session: Session): Promise<Session> {
        return session.call(run, { command: "true" });
      }
    }
    await using rath = testRath({ store });
    const started = await rath.run(new Work(), rath.session("x").to("memory", { workspace: repo, env: { A: "1" } }));
    const done = await started.result();
    const kinds: string[] = [];
    for await (const event of store.events({ session: started.id })) kinds.push(JSON.parse(Buffer.from(event.envelope).toString()).kind);
    expect(kinds).toEqual(["run.started", "workspace.captured", "sandbox.opened", "sandbox.closed", "run.ended", "run.signed"]);
    expect(done.placement).toMatchObject({ sandbox: "memory", id: expect.stringMatching(/^memory-/), env: { A: "1" } });
  });
});

/** Two placements of different kinds, which work the same. */
function rathWithTwo() {
  return testRath({ sandboxes: { other: { ...memorySandbox(), kind: "other" } } });
}

describe("merging", () => {
  async function branches(changes: readonly Readonly<Record<string, string>>[]): Promise<readonly Session[]> {
    const rath = testRath();
    const base = await rath.session("work").to("memory", { workspace: repo }).call(put, { path: "x", text: "1\n2\n3\n4\n5\n" });
    return Promise.all(
      changes.map(async (files, index) => {
        let branch: Session = base.fork(`b${index}`);
        for (const [path, text] of Object.entries(files)) branch = await branch.call(put, { path, text });
        return branch;
      }),
    );
  }

  test("joins files that were changed apart", async () => {
    const [a, b] = (await branches([
      { x: "one\n2\n3\n4\n5\n", a: "a" },
      { x: "1\n2\n3\n4\nfive\n", b: "b" },
    ])) as [Session, Session];
    const merged = await a.merge(b);
    expect(await merged.files.text("x")).toBe("one\n2\n3\n4\nfive\n");
    expect(await merged.files.text("b")).toBe("b");
    const back = await b.merge(a);
    expect(back.files.hash).toBe(merged.files.hash);
    const after = await merged.call(run, { command: "cat x a b" });
    expect((after.output as { stdout: string }).stdout).toBe("one\n2\n3\n4\nfive\nab");
  });

  test("refuses what both changed, lists it, and gives the head back", async () => {
    const [a, b] = (await branches([{ x: "1\n2\n3\n4\na\n" }, { x: "one\n2\n3\n4\nb\n" }])) as [Session, Session];
    expect(await a.conflicts(b)).toMatchObject([{ kind: "file", path: "x", problem: "content" }]);
    const refused = await a.merge(b).catch((error: RathError) => error);
    expect(code(refused)).toBe("merge.conflict");
    expect((refused as RathError).details["conflicts"]).toMatchObject([{ path: "x" }]);
    const ours = await a.merge(b, { conflicts: "ours" });
    expect(ours.id).toBe(a.id);
    // The whole file: what only the other side changed in it is not taken either.
    expect(await ours.files.text("x")).toBe("1\n2\n3\n4\na\n");
  });

  test("refuses branches that wrote in different placements", async () => {
    const base = rathWithTwo().session("x").to("memory", { workspace: repo });
    const [a, b] = await Promise.all([
      base.fork("a").call(put, { path: "a", text: "a" }),
      base.fork("b").to("other").call(put, { path: "b", text: "b" }),
    ]);
    await expect(a.merge(b)).rejects.toMatchObject({ code: "merge.refused", details: { ours: "memory", theirs: "other" } });
    expect(a.note("goes on").id).toBe(a.id);
  });

  test("refuses a criss-cross whose bases differ in files, and names them", async () => {
    const [a, b] = (await branches([{ a: "a" }, { b: "b" }])) as [Session, Session];
    const [ab, ba] = [await a.fork("x").merge(b), await b.fork("y").merge(a)];
    const [left, right] = await Promise.all([ab.call(put, { path: "c", text: "1" }), ba.call(put, { path: "d", text: "2" })]);
    const refused = await left.merge(right).catch((error: RathError) => error);
    expect(refused).toMatchObject({ code: "merge.refused", details: { bases: expect.arrayContaining([a.head, b.head]) } });
  });

  test("settles conflicts by option, function or workflow", async () => {
    const pairs = await Promise.all([1, 2, 3].map(() => branches([{ x: "a\n" }, { x: "b\n" }])));
    const [[a1, b1], [a2, b2], [a3, b3]] = pairs as unknown as readonly (readonly [Session, Session])[] as never as [
      [Session, Session],
      [Session, Session],
      [Session, Session],
    ];
    expect(await (await a1.merge(b1, { conflicts: "theirs" })).files.text("x")).toBe("b\n");
    expect(await (await a2.merge(b2, { conflicts: () => ({ content: "both\n" }) })).files.text("x")).toBe("both\n");
    class Judge extends Workflow {
      forward(session: Session): Promise<Session> {
        return session.do("judge", () => ({ x: { content: "judged\n" } }), { repeat: "safe" });
      }
    }
    expect(await (await a3.merge(b3, { conflicts: new Judge() })).files.text("x")).toBe("judged\n");
  });
});

describe("writing back", () => {
  test("shows, writes, and refuses when the directory changed meanwhile", async () => {
    const directory = await mkdtemp(join(tmpdir(), "apply-"));
    await writeFile(join(directory, "a"), "1\n");
    await writeFile(join(directory, "b"), "1\n");
    await using rath = testRath();
    const session = await rath
      .session("x")
      .to("memory", { workspace: directory })
      .call(run, { command: "echo 2 > a; echo 2 > b; echo 2 > c" });
    expect(await session.apply(directory, { dryRun: true })).toMatchObject([{ path: "a" }, { path: "b" }, { path: "c", kind: "added" }]);
    expect(await readFile(join(directory, "a"), "utf8")).toBe("1\n");
    await writeFile(join(directory, "b"), "mine\n");
    const refused = await session.apply(directory).catch((error: RathError) => error);
    expect(code(refused)).toBe("workspace.changed");
    expect(await readFile(join(directory, "a"), "utf8")).toBe("1\n");
    await session.apply(directory, { paths: ["a", "c"] });
    expect(await readFile(join(directory, "a"), "utf8")).toBe("2\n");
    expect(await readFile(join(directory, "b"), "utf8")).toBe("mine\n");
    await rm(directory, { recursive: true });
  });
});

describe("nested work", () => {
  class Writer extends Workflow {
    readonly #files: Readonly<Record<string, string>>;
    constructor(files: Readonly<Record<string, string>>) {
      super();
      this.#files = files;
    }
    async forward(session: Session): Promise<Session<string>> {
      let at: Session = session;
      for (const [path, text] of Object.entries(this.#files)) at = await at.call(put, { path, text });
      return at.do("say", () => "written", { repeat: "safe" });
    }
  }

  test("that is called as a tool gives its files back", async () => {
    await using rath = testRath();
    const asTool = new Writer({ n: "nested" }).asTool({ name: "writer", description: "Writes." });
    const base = await rath.session("x").to("memory", { workspace: repo }).call(put, { path: "x", text: "1" });
    const after = await base.call(asTool, { task: "write" });
    expect(await after.files.text("n")).toBe("nested");
    expect(after.calls.at(-1)).toMatchObject({ tool: "writer", changes: [{ path: "n", kind: "added" }] });
  });
});

describe("after a crash", () => {
  test("a run goes on with the files as they are on record", async () => {
    const store = sharedStore();
    const seen: string[] = [];
    let crash = true;
    class Work extends Workflow {
      async forward(session: Session): Promise<Session> {
        const first = await session.call(put, { path: "n", text: "1" });
        return first.call(
          tool({
            name: "count",
            description: "Adds one.",
            input: { type: "object" },
            writes: "files",
            repeat: "safe",
            run: async (_, { sandbox }) => {
              const { stdout } = await sandbox.exec("cat n; echo more >> n");
              seen.push(stdout);
              if (crash) await new Promise(() => {});
              return stdout;
            },
          }),
          {},
        );
      }
    }
    const work = new Work();
    const one = testRath({ store: store, workflows: { work } });
    const run1 = await one.run("work", one.session("x").to("memory", { workspace: repo }));
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await one.close();
    crash = false;
    await using two = testRath({ store: store, workflows: { work } });
    const done = await (await two.resume(run1.id)).result();
    expect(seen).toEqual(["1", "1"]);
    expect(await done.files.text("n")).toBe("1more\n");
  });
});

describe("a rerun", () => {
  const edit = tool({
    name: "edit",
    description: "Writes the answer.",
    input: { type: "object", properties: { text: { type: "string" } } },
    writes: "files",
    run: async (given, { sandbox }) => sandbox.write("answer", (given as { readonly text: string }).text),
  });
  const tested: string[] = [];
  const runTests = tool({
    name: "run_tests",
    description: "Tests.",
    input: { type: "object" },
    writes: "files",
    run: async (_, { sandbox }) => {
      const { stdout } = await sandbox.exec("cat answer");
      tested.push(stdout);
      return stdout;
    },
  });
  class Fix extends Workflow {
    async forward(session: Session): Promise<Session> {
      const planned = await session.do("plan", () => "42", { repeat: "safe" });
      const noted = planned.note("something that tests do not read");
      const edited = await noted.call(edit, { text: planned.output as string });
      return edited.call(runTests, {});
    }
  }

  test("does not reuse tests of other files, and does reuse those of the same", async () => {
    tested.length = 0;
    await using rath = testRath();
    const fixed = await new Fix().forward(rath.session("x").to("memory", { workspace: repo }));
    const plan = [...fixed.events()].find((event) => event.kind === "do.returned")?.id as string;
    const other = await rerun(fixed, new Fix(), { change: { event: plan, output: "43" } });
    expect(tested).toEqual(["42", "43"]);
    expect(other.session.output).toBe("43");
    // Another history, the same files: nothing has to run again.
    const same = await rerun(fixed, new Fix(), { change: (session) => session.note("another history") });
    expect(tested).toEqual(["42", "43"]);
    expect(await same.session.files.text("answer")).toBe("42");
    expect(same.session.files.hash).toBe(fixed.files.hash);
  });

  test("keeps the files before a result that was replaced", async () => {
    class Write extends Workflow {
      async forward(session: Session): Promise<Session> {
        const first = await session.call(edit, { text: "1" });
        const second = await first.call(put, { path: "replaced", text: "2" });
        return second.call(put, { path: "last", text: "3" });
      }
    }
    await using rath = testRath();
    const done = await new Write().forward(rath.session("x").to("memory", { workspace: repo }));
    const second = [...done.events()].filter((event) => event.kind === "tool.returned")[1]?.id as string;
    const { session } = await rerun(done, new Write(), { change: { event: second, output: "other" } });
    const paths: string[] = [];
    for await (const path of session.files.list()) paths.push(path);
    expect(paths).toEqual(["README", "answer", "last", "src/a.txt"]);
  });

  test("reuses no call of a round whose files another call of it changed otherwise", async () => {
    const copy = tool({
      name: "copy",
      description: "Copies.",
      input: { type: "object" },
      writes: "files",
      resource: () => "*",
      run: async (_, { sandbox }) => (await sandbox.exec("cp a b")).exitCode,
    });
    const round = (text: string) => ({
      calls: [
        { tool: "put", input: { path: "a", text } },
        { tool: "copy", input: {} },
      ],
    });
    const [agent, changed] = ["1", "2"].map((text) => new Agent({ model: scripted(round(text), "done"), tools: [put, copy] })) as [
      Agent,
      Agent,
    ];
    await using rath = testRath();
    const done = await agent.forward(rath.session("x").to("memory", {}));
    const other = await rerun(done, changed, { change: (given) => given.say("otherwise") });
    expect([await other.session.files.text("a"), await other.session.files.text("b")]).toEqual(["2", "2"]);
    const same = await rerun(done, agent);
    expect([same.reused, same.session.files.hash]).toEqual([same.of, done.files.hash]);
  });

  test("does not reuse, after another history, what may have looked at more than files", async () => {
    let asked = 0;
    const look = (name: string, writes: "files" | "world") =>
      tool({
        name,
        description: "Reads a file and perhaps more.",
        input: { type: "object" },
        writes,
        repeat: "safe",
        run: async (_, { sandbox }) => {
          asked++;
          return Buffer.from(await sandbox.read("README")).toString();
        },
      });
    const flow = (used: ReturnType<typeof look>) =>
      new (class extends Workflow {
        forward(session: Session): Promise<Session> {
          return session.call(used, {});
        }
      })();
    await using rath = testRath();
    const counts: number[] = [];
    for (const used of [look("files_only", "files"), look("and_more", "world")]) {
      const work = flow(used);
      const done = await work.forward(rath.session("x").to("memory", { workspace: repo }));
      asked = 0;
      await rerun(done, work);
      counts.push(asked);
      await rerun(done, work, { change: (session) => session.note("another history") });
      counts.push(asked);
    }
    expect(counts).toEqual([0, 0, 0, 1]);
  });

  test("begins with the files that its source found, whatever the directory holds now", async () => {
    tested.length = 0;
    const directory = await mkdtemp(join(tmpdir(), "rerun-"));
    await writeFile(join(directory, "seen"), "then");
    await using rath = testRath();
    const fixed = await new Fix().forward(rath.session("x").to("memory", { workspace: directory }));
    await writeFile(join(directory, "seen"), "now");
    const again = await rerun(fixed, new Fix(), { change: (session) => session.note("again") });
    expect(await again.session.files.text("seen")).toBe("then");
    await rm(directory, { recursive: true });
  });
});

test("a replay waits for the files of a merge, however long they take to read", async () => {
  const inner = memoryStore();
  let delayMs = 0;
  const blob: Store["blob"] = async (hash) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    return inner.blob(hash);
  };
  const store: Store = { ...inner, blob, [Symbol.asyncDispose]: async () => {} };
  class Join extends Workflow {
    async forward(session: Session): Promise<Session> {
      const [a, b] = await Promise.all(["a", "b"].map((name) => session.fork(name).call(put, { path: `${name}/1/2`, text: name })));
      return (a as Session).merge(b as Session);
    }
  }
  const work = new Join();
  const one = testRath({ store, workflows: { work } });
  const begun = await one.session("x").to("memory", {}).call(put, { path: "c/1/2", text: "c" });
  const { id } = await (await one.run("work", begun)).result();
  await one.close();
  await using two = testRath({ store, workflows: { work } });
  const session = await two.open(id);
  delayMs = 150;
  expect(String(await replay(session, work))).toMatch(/^identical/);
});
