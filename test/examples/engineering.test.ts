/** The Engineering example from end to end, through the functions that npm start uses; killing and resuming it is npm start's own. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dossier, graph } from "openrath/audit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repair } from "../../examples/engineering/repair.ts";
import { offline, offlineLong } from "../../examples/engineering/script.ts";
import { Team } from "../../examples/engineering/team.ts";
import { sandboxFor } from "../../examples/stage/at-hand.ts";
import { openrath, type Rath, RathError, type Session } from "../../src/index.ts";

const flavours = [
  { program: "node", command: "node --test --test-reporter=tap", first: "slugs-js", similar: "search-js", key: "accents" },
  { program: "python3", command: "python3 -B -m unittest -v", first: "dates-py", similar: "renewals-py", key: "month-lengths" },
] as const;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-engineering-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function worked(rath: Rath, team: Team, name: string, into = folder, sandbox = "local"): Promise<Session> {
  return (await repair(rath, team, name, into, sandbox)).result();
}

const lines = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

for (const { program, command, first, similar, key } of flavours) {
  const { sandbox, about } = await sandboxFor(program);
  if (sandbox !== "local") console.log(`skipped: ${first} and ${similar}: ${about}`);

  describe.skipIf(sandbox !== "local")(`${first}, then ${similar}`, () => {
    const team = new Team(command);
    let rath: Rath;
    let repository: string;
    let session: Session;
    beforeAll(async () => {
      rath = openrath({ store: join(folder, `${first}.db`), workflows: { team }, models: offline });
      repository = join(folder, first);
      session = await worked(rath, team, first);
    }, 60_000);
    afterAll(() => rath.close());

    test("two patches fail the tests, what that teaches is remembered with its evidence, and the repaired patch passes", async () => {
      expect(session.checks.map(({ passed, score }) => [passed, score])).toEqual([
        [false, 0.75],
        [true, 1],
      ]);
      const [failed] = session.checks;
      const { nodes } = await graph(session);
      expect(
        nodes.filter(({ status }) => status === "rejected").map(({ label, reason }) => [label, reason?.includes("tests fail")]),
      ).toEqual(
        expect.arrayContaining([
          ["small", true],
          ["thorough", true],
        ]),
      );
      const item = await rath.memory.get(key);
      expect(item).toMatchObject({ state: "published", origin: "failure", trust: "untrusted", because: [failed?.event] });
    });

    test("Q24: the dossier has task, environment, workflow, tools, sandbox, memory and validation", async () => {
      const { directory, verified, replayed } = await dossier(session, join(folder, `${first}-dossier`));
      expect([verified, replayed]).toEqual([true, true]);
      const read = (file: string): Promise<string> => readFile(join(directory, file), "utf8");
      const events = lines(await read("session/session.jsonl")).filter((line) => "envelope" in line);
      const ofKind = (kind: string) => events.filter(({ envelope }) => envelope.kind === kind).map(({ data }) => data);
      // Task.
      expect(JSON.stringify(ofKind("message.added")[0])).toContain((await readFile(join(repository, "ISSUE.md"), "utf8")).split("\n")[0]);
      // Environment and workflow.
      const manifest = JSON.parse(await read("manifest.json"));
      expect(manifest).toMatchObject({
        node: process.version,
        store: "sqlite",
        workflows: [{ name: "team", status: "done" }],
        models: [{ model: "scripted", sources: { scripted: expect.any(Number) } }],
      });
      // Tools called, and the sandbox that held what they did.
      const calls = lines(await read("calls.jsonl"));
      expect(new Set(calls.map(({ tool }) => tool))).toEqual(new Set(["list_files", "read_file", "write_file", "shell"]));
      const changing = calls.filter(({ files }) => files.length > 0);
      expect(changing.map(({ branch, sandbox }) => [branch, sandbox.backend, sandbox.isolation])).toEqual(
        expect.arrayContaining(["small", "thorough", "repair"].map((branch) => [branch, "local", "namespace"])),
      );
      // Memory read and written.
      expect(ofKind("recall.returned")).toHaveLength(1);
      expect(ofKind("remember.called")).toMatchObject([{ key, because: [session.checks[0]?.event] }]);
      // The validation signal, with the command behind it.
      const verdicts = ofKind("check.returned");
      expect(verdicts.map(({ passed }) => passed).toSorted()).toEqual([false, false, true]);
      expect(verdicts.every(({ acted }) => acted.commands[0].command === command)).toBe(true);
      // And all of it for people.
      const page = await read("index.html");
      for (const section of ["task", "environment", "roles", "tools", "placement", "memory", "checks", "branches", "files"])
        expect(page).toContain(`<section id="${section}">`);
      expect(await read("patch.diff")).toBe(await session.files.patch());
    });

    test("the repository is only read before apply, and then holds the patch", async () => {
      const read = (): Promise<string> => readFile(join(repository, "CHANGES.md"), "utf8");
      const before = await read();
      expect((await session.apply(repository, { dryRun: true })).map(({ kind }) => kind)).toEqual(["changed", "changed"]);
      expect(await read()).toBe(before);
      for (const { path } of await session.apply(repository))
        expect(await readFile(join(repository, path), "utf8")).toBe(await session.files.text(path));
      expect(await read()).not.toBe(before);
    });

    test("a similar issue recalls the lesson, and both patches pass at once; without the memory both fail first", async () => {
      const [failed] = session.checks;
      const next = await worked(rath, team, similar);
      expect(next.memory.reads).toMatchObject([{ key, because: [failed?.event], recall: { by: "team/planner", injected: true } }]);
      expect(next.checks.map(({ passed }) => passed)).toEqual([true]);
      expect(next.memory.writes).toEqual([]);
      // Both sessions are of one minute: a command of the dossier names one of them all the same.
      const { page } = await dossier(next, join(folder, `${similar}-dossier`));
      const [, named = ""] = /openrath apply ([\w-]+)</.exec(await readFile(page, "utf8")) ?? [];
      expect((await rath.open(named)).id).toBe(next.id);

      await using forgetful = openrath({ store: join(folder, `${similar}-alone.db`), workflows: { team }, models: offline });
      const alone = await worked(forgetful, team, similar, join(folder, "alone"));
      expect(alone.memory.reads).toEqual([]);
      expect(alone.checks.map(({ passed }) => passed)).toEqual([false, true]);
      expect(alone.usage.input).toBeGreaterThan(next.usage.input);
    }, 60_000);

    test("each check acts in a sandbox that no call has used", async () => {
      const used = new Set(session.calls.map(({ acted }) => acted?.id));
      expect(used.size).toBeGreaterThan(1);
      expect(session.checks.filter(({ acted }) => acted?.id === undefined || used.has(acted.id))).toEqual([]);
    });
  });
}

const node = await sandboxFor("node");
test.skipIf(node.sandbox !== "local")(
  "a coder that has used up its budget goes on with a summary",
  async () => {
    const team = new Team(flavours[0].command, 20_000);
    await using rath = openrath({ store: join(folder, "long.db"), workflows: { team }, models: offlineLong });
    const session = await worked(rath, team, "labels-js");
    expect(session.compressions.map(({ policy }) => policy)).toEqual(["summary", "summary"]);
    expect(session.compressions[1]?.replacedBy).toContain("Right by now: badge.js");
    expect(session.checks).toMatchObject([{ passed: true, reason: "all 6 tests pass" }]);
  },
  60_000,
);

test("where nothing can be isolated, commands and tests of a script's patch run on the machine itself", async () => {
  const team = new Team(flavours[0].command);
  await using rath = openrath({ store: "memory", workflows: { team }, models: offline });
  const session = await worked(rath, team, "slugs-js", join(folder, "host"), "host");
  expect(session.checks.map(({ passed }) => passed)).toEqual([false, true]);
  expect(session.calls.find(({ tool }) => tool === "shell")).toMatchObject({
    outcome: { type: "ok", value: { stdout: expect.stringContaining("a-va-world") } },
  });
}, 60_000);

test("a script that is asked about another repository says so instead of guessing", async () => {
  const team = new Team("true");
  await using rath = openrath({ store: "memory", workflows: { team }, models: offline });
  const asked = await team.forward(rath.session("Repair something else.").to("memory"));
  expect(RathError.is(asked)).toBe(false);
  expect(asked.stop).toBe("error");
});
