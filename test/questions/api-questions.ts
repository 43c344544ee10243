/** What people ask about a run, asked as a user would: a few lines through the public doors, and the exact answer. */
import { expect, test } from "vitest";
import { blame, cost, decisions, diff, graph } from "../../src/audit/audit.ts";
import { type Event, replay, type Session, verify, why } from "../../src/index.ts";
import { all, where } from "./rich.ts";
import { before, follow, repository, right, small, task, testCommand, wrong } from "./story.ts";
import { rich, session } from "./world.ts";

const { rath, runs } = rich;
const isolation = where === "local" ? "namespace" : "process";
const coder = "repair/desk/attempt/careful";
const planner = "repair/desk/plan/planner";
const nameOf = ({ uri, version }: { readonly uri: string; readonly version: number }) => `${uri}@${version}`;
/** The label of the branch that an event lies on. */
const branchAt = (event: string) => session.at(event).lineage.label;
const called = (tool: string) => session.calls.filter((call) => call.tool === tool);
const said = (words: string) => session.messages.find(({ text }) => text.includes(words));
/** The branches by their labels. */
async function branches(): Promise<ReadonlyMap<string, Session>> {
  const { nodes } = await graph(session);
  return new Map(await Promise.all(nodes.map(async ({ id, label }) => [label, await rath.open(id)] as const)));
}
/** Everything on record of a run, its own log included. */
async function told(run: string): Promise<readonly Event[]> {
  const parts = await all((await rath.attach(run)).stream());
  return parts.flatMap((part) => (part.type === "event" ? [part.event] : []));
}

test("Q1 Which branch produced the final result?", async () => {
  const { nodes } = await graph(session);
  expect(nodes.filter(({ won }) => won).map(({ label, id }) => [label, id])).toEqual([
    ["thorough", session.at(said("Accents")?.event ?? "").id],
  ]);
});

test("Q2 Which tool (call) modified which file?", async () => {
  const changed = session.calls.flatMap(({ id, tool, by, changes }) =>
    changes.map(({ path, kind }) => [tool, kind, path, by, branchAt(id)]),
  );
  expect(changed).toEqual([
    ["edit_file", "changed", "slugify.js", coder, "thorough"],
    ["edit_file", "changed", "slugify.js", coder, "thorough"],
    ["shell", "changed", "CHANGES.md", "repair/desk/attempt/writer", "notes"],
  ]);
  const [, second] = called("edit_file");
  expect((await blame(session, "slugify.js")).map(({ line, call }) => [line, call])).toEqual([
    [1, second?.id],
    [2, second?.id],
  ]);
});

test("Q3 Which memory item was recalled or committed?", async () => {
  expect(session.memory.reads.map((read) => [nameOf(read), read.recall.by])).toEqual([
    ["memory://project/test-command@1", "repair"],
    ["memory://project/test-command@1", planner],
    ["memory://project/style@1", planner],
    ["memory://project/test-command@1", "follow"],
  ]);
  expect(session.memory.writes.map((write) => [nameOf(write), write.state, write.by])).toEqual([
    ["memory://project/changelog@1", "staged", "repair/desk/attempt"],
    ["memory://project/slug-rule@1", "staged", "repair"],
    ["memory://project/style@2", "retracted", "repair"],
    ["memory://user/ada/release-day@1", "staged", "repair"],
  ]);
  // What became of it: all of it is published, and nothing of the branch that was rejected.
  expect((await all(rath.memory.list())).map((item) => [nameOf(item), item.state])).toEqual([
    ["memory://project/test-command@1", "published"],
    ["memory://project/changelog@1", "published"],
    ["memory://project/slug-rule@1", "published"],
    ["memory://project/style@2", "retracted"],
    ["memory://user/ada/release-day@1", "published"],
  ]);
});

test("Q4 Which evidence was removed during compression?", () => {
  const [compression] = session.compressions;
  const removed = session.messages.filter(({ event }) => compression?.dropped.includes(event));
  expect(removed.map(({ role, by }) => `${role} ${by}`)).toEqual([
    "user repair/desk",
    "user repair/desk/attempt",
    ...["assistant", "tool", "assistant", "tool", "assistant", "assistant", "tool", "assistant"].map((role) => `${role} ${coder}`),
  ]);
  expect(removed.length).toBe(compression?.dropped.length);
  expect(compression).toMatchObject({ policy: "summary", by: "repair/shorter", replacedBy: "The plan was carried out; the tests pass." });
});

test("Q5 What was the input state?", async () => {
  const input = await (await rath.attach(runs.repair)).input();
  expect(input.messages.map(({ role, by, text }) => [role, by, text])).toEqual([["user", "ada", task]]);
  expect(input.placement).toMatchObject({ sandbox: "memory", workspace: `${rich.folder}/repo` });
  expect([input.step, input.usage.input, input.calls, input.memory]).toEqual([5, 0, [], { reads: [], writes: [] }]);
  // Its files were taken when a tool first looked at them.
  const { files } = session.at(called("read_file")[0]?.event ?? "");
  for (const [path, text] of Object.entries(repository)) expect(await files.text(path)).toBe(text);
  expect((await all(files.list())).toSorted()).toEqual(Object.keys(repository).toSorted());
});

test("Q6 What changed?", async () => {
  expect((await session.files.changes()).map(({ kind, path }) => [kind, path])).toEqual([
    ["changed", "CHANGES.md"],
    ["changed", "slugify.js"],
  ]);
  expect(await session.files.patch()).toBe(
    [
      ...[
        "diff --git a/CHANGES.md b/CHANGES.md",
        "--- a/CHANGES.md",
        "+++ b/CHANGES.md",
        "@@ -1 +1,2 @@",
        " # Changes",
        "+- slugs drop accents",
      ],
      ...["diff --git a/slugify.js b/slugify.js", "--- a/slugify.js", "+++ b/slugify.js", "@@ -1 +1,2 @@", `-${before.trimEnd()}`],
      ...right
        .trimEnd()
        .split("\n")
        .map((line) => `+${line}`),
      "",
    ].join("\n"),
  );
});

test("Q7 Which backend performed the change?", () => {
  const changed = session.calls.filter(({ changes }) => changes.length > 0);
  expect(changed.map(({ tool, acted }) => [tool, acted?.sandbox, acted?.isolation])).toEqual([
    ["edit_file", where, isolation],
    ["edit_file", where, isolation],
    ["shell", where, isolation],
  ]);
});

test("Q8 Which memory or artifact influenced the decision?", async () => {
  const planned = await why(session, { answer: "split accents off" });
  const context = planned.hops.filter(({ relation }) => relation === "was-in-context").map(({ event }) => event.id as string);
  // The memories that were read, the file, the ticket of another system, and what a colleague said.
  expect(context).toContain([...session.events()].find(({ kind, by }) => kind === "recall.returned" && by === planner)?.id);
  for (const tool of ["read_file", "read_text_file", "research"]) expect(context).toContain(called(tool).at(-1)?.event);
  const reviewed = await why(session, { answer: "It fixes the cause" });
  expect(reviewed.hops.map(({ event }) => event.id)).toEqual(
    expect.arrayContaining([
      session.compressions[0]?.event,
      said("Accept this patch?")?.event,
      ...called("edit_file").map(({ event }) => event),
    ]),
  );
});

test("Q9 How can the run be resumed or replayed?", async () => {
  // It was: another process went on where the first was killed, and nothing happened twice.
  expect((await cost(session)).interrupted.filter(({ abandoned }) => abandoned).map(({ run }) => run)).toEqual([runs.repair]);
  expect(await rich.uploads()).toBe("1.0.1\n");
  expect(await (await rath.resume(runs.repair)).status()).toBe("done");
  // Each of its runs can be replayed from the record; the world is not called.
  expect(await replay(session, follow)).toMatchObject({ identical: true });
  expect(await replay(session, rich.repair, { from: 12 })).toMatchObject({ identical: true });
  expect(await rich.uploads()).toBe("1.0.1\n");
  expect(await verify(session)).toMatchObject({ ok: true, problems: [] });
});

test("Q10 Which branch produced a given claim?", () => {
  const claim = said("Accents are split off and dropped.");
  expect([claim?.by, session.at(claim?.event ?? "").lineage.label]).toEqual([coder, "thorough"]);
  expect(branchAt(said("The change is noted.")?.event ?? "")).toBe("notes");
});

test("Q11 Which sandbox touched a file?", async () => {
  const touched = [...(await branches()).values()].flatMap(({ id, calls }) =>
    calls
      .filter(({ changes }) => changes.some(({ path }) => path === "CHANGES.md"))
      .map((call) => ({ id, branch: branchAt(call.id), sandbox: call.sandbox })),
  );
  const [opened] = await all(rath.sandboxes({ session: (await branches()).get("notes")?.id }));
  expect(new Set(touched.map(({ branch, sandbox }) => `${branch} ${sandbox}`))).toEqual(new Set([`notes ${opened?.id}`]));
  expect(opened).toMatchObject({ sandbox: where, isolation, run: runs.repair });
});
test("Q12 Which memory item was recalled at step seven?", () => {
  const recalled = session.memory.reads.filter(({ recall }) => recall.step === 7);
  expect(recalled).toMatchObject([
    {
      ...{
        key: "test-command",
        version: 1,
        content: testCommand,
        query: "how the tests of this repository are run: grep",
        trust: "untrusted",
      },
      ...{ session: rich.taught.id, recall: { by: "repair", injected: false, revision: 1 } },
    },
  ]);
  expect([session.at(6).memory.reads.length, session.at(8).memory.reads.length]).toEqual([0, 1]);
});

test("Q13 What exact context existed at step twelve, and can I replay or fork from there?", async () => {
  const twelve = session.at(12);
  expect(twelve.messages.map(({ text }) => text)).toEqual([task]);
  expect([twelve.memory.reads.map(nameOf), twelve.routes.map(({ choice }) => choice)]).toEqual([
    ["memory://project/test-command@1"],
    ["plan"],
  ]);
  expect(twelve.placement).toMatchObject({ sandbox: "memory", workspace: `${rich.folder}/repo` });
  // What exactly the first model read after it.
  const { model, messages, tools } = await session.at(18).request();
  expect([model, tools.slice(0, 3).map(({ name }) => name)]).toEqual(["acme/fast", ["read_file", "advisory", "research"]]);
  expect(messages.map((message) => JSON.stringify(message).includes("Recalled from memory"))).toEqual([false, true]);
  expect(await replay(session, rich.repair, { from: 12 })).toMatchObject({ identical: true });
  const forked = await twelve.fork("another way").do("look", () => "seen", { repeat: "safe" });
  expect([forked.lineage, forked.output]).toEqual([
    { kind: "fork", parents: [twelve.head], label: "another way", implicit: false },
    "seen",
  ]);
  expect((await rath.open(session.id)).head).toBe(session.head);
});

test("Q14 What conversation state, memory context and branch provenance led to this tool call?", async () => {
  const [publish] = called("publish");
  const then = session.at(publish?.id ?? "");
  expect([then.messages.at(-1)?.by, then.messages.at(-2)?.text]).toEqual(["repair/releaser", "Publish it, and tell everybody."]);
  expect(then.memory.reads.map(({ key }) => key)).toEqual(["test-command", "test-command", "style"]);
  expect([then.lineage.label, then.lineage.kind]).toEqual(["thorough", "merge"]);
  const { hops } = await why(session, { event: publish?.id ?? "" });
  expect(hops.slice(0, 4).map(({ relation, event }) => `${relation} ${event.kind} ${event.by}`)).toEqual([
    "approved answer.given human:ada",
    "called model.returned repair/releaser",
    "decided model.called repair/releaser",
    "was-in-context message.added repair",
  ]);
});

test("Q15 What memory state was present before compression?", async () => {
  const [compression] = session.compressions;
  const then = session.at((compression?.step ?? 0) - 1);
  expect([then.memory.reads.map(nameOf), then.memory.writes.map(nameOf)]).toEqual([
    ["memory://project/test-command@1", "memory://project/test-command@1", "memory://project/style@1"],
    ["memory://project/changelog@1"],
  ]);
  // What could be recalled there, though others have been written and one forgotten since.
  const recalled = await then.fork("then").recall({}, { limit: 9 });
  expect(recalled.output.map((hit) => [nameOf(hit), hit.state]).toSorted()).toEqual([
    ["memory://project/changelog@1", "staged"],
    ["memory://project/style@1", "published"],
    ["memory://project/test-command@1", "published"],
  ]);
});

test("Q16 How do two branches from the same point compare?", async () => {
  const tested = session.at(session.checks[1]?.event ?? "");
  const { ancestors, files, checks, memory, spent } = await diff((await branches()).get("small") as Session, tested);
  expect(ancestors.map((place) => [...session.at(place.event).events()].at(-1)?.data)).toEqual([{ name: "attempt" }]);
  expect(files.map(({ path, lines }) => [path, lines])).toEqual([["slugify.js", { added: 2, removed: 1 }]]);
  expect(checks.map(({ a, b }) => [a?.reason, b?.reason])).toEqual([[undefined, "ok 2 of 2"]]);
  expect(memory.map(({ what, uri, a, b }) => [what, uri, a?.content, b])).toEqual([
    ["write", "memory://project/small-fix", "One line will do.", undefined],
  ]);
  expect([spent.a.usage.usd, spent.b.usage.usd]).toEqual([expect.closeTo(0.0028, 10), expect.closeTo(0.07, 10)]);
});

test("Q17 Which branches were abandoned or rejected, and why?", async () => {
  const { nodes } = await graph(session);
  const rejected = nodes.filter(({ status }) => status === "rejected").map(({ label, reason }) => [label, reason]);
  expect(rejected.toSorted()).toEqual([
    ["costly", "stopped: budget"],
    ["small", "accents are left in"],
  ]);
  expect((await (await branches()).get("small")?.files.text("slugify.js")) === small).toBe(true);
});

test("Q18 Which role/agent, tool call and workspace produced this answer?", () => {
  const answer = said("Accents are split off and dropped.");
  const then = session.at(answer?.event ?? "");
  const [call] = then.calls.slice(-1);
  expect([answer?.by, call?.tool, call?.by, branchAt(call?.id ?? "")]).toEqual([coder, "edit_file", coder, "thorough"]);
  expect([then.placement?.sandbox, then.files.hash]).toEqual([where, call?.acted?.after]);
});

test("Q19 What were the arguments and result; what is the diff; what failed and was retried?", async () => {
  const [first] = called("edit_file");
  expect(first).toMatchObject({ input: { path: "slugify.js", find: before, replace: wrong }, outcome: { type: "ok" } });
  const diff = await session.at(first?.event ?? "").files.patch(session.at(first?.id ?? "").files);
  expect(diff.split("\n").slice(3)).toEqual(["@@ -1 +1 @@", `-${before.trimEnd()}`, `+${wrong.trimEnd()}`, ""]);
  const failed = session.calls
    .filter(({ outcome }) => outcome.type !== "ok")
    .map(({ tool, input, outcome }) => [tool, input, outcome.type]);
  expect(failed).toEqual([
    ["research", "{ task: ", "error"],
    ["announce", { to: "everybody" }, "denied"],
  ]);
  expect(called("advisory")).toMatchObject([{ outcome: { value: "slugs: none" }, failures: [{ message: "the registry is busy" }] }]);
  const retried = [...session.events()]
    .filter(({ facts }) => (facts.attempts ?? 1) > 1)
    .map(({ kind, by, facts }) => [kind, by, facts.attempts]);
  expect(retried).toEqual([
    ["model.returned", planner, 2],
    ["tool.returned", planner, 2],
  ]);
});

test("Q20 Who approved or rejected an action, and which validation signal confirmed the outcome?", async () => {
  const decided = await decisions(session);
  expect(decided.map(({ pending, by, approve, reason }) => [pending.kind, by, approve, reason])).toEqual([
    ["unknown", "human:ada", undefined, "it is in the bucket"],
    ["approval", "human:ada", true, "not to everybody yet"],
    ["approval", "human:bob", false, "it is only a preview"],
    ["question", "human:ada", undefined, undefined],
  ]);
  expect(called("publish")).toMatchObject([
    { asked: { tag: "latest" }, input: { tag: "next" }, outcome: { value: "1.0.1 is published as next" } },
  ]);
  expect(
    session.checks.map(({ name, passed, score, reason, acted }) => [name, passed, score, reason, acted?.commands?.[0]?.stdout]),
  ).toEqual([
    ["tests", false, 0.5, "not ok: accents are left in", "not ok: accents are left in\n"],
    ["tests", true, 1, "ok 2 of 2", "ok 2 of 2\n"],
    ["tests", true, 1, "ok 2 of 2", "ok 2 of 2\n"],
    ["review", true, undefined, "It fixes the cause.", undefined],
  ]);
});

test("Q21 Why was this memory present in the run: what was retrieved, which session asked, which workflow used it, did it influence planning or validation?", async () => {
  const uses = (await all(rath.memory.usedBy("test-command"))).filter((use) => use.session === session.id);
  expect(uses.map(({ by, query, injected }) => [by, query, injected])).toEqual([
    ["repair", "how the tests of this repository are run: grep", false],
    [planner, task, true],
    ["follow", "Is anything left to do?", true],
  ]);
  // Planning: the models that had it before them. Validation: the checks ran it.
  expect(uses.map(({ readBy }) => [...new Set(readBy.map((event) => session.at(event)).map((at) => [...at.events()].at(-1)?.by))])).toEqual(
    [[], [planner, `${planner}/lead`], ["follow"]],
  );
  expect(session.checks.filter(({ acted }) => acted?.commands?.[0]?.command === testCommand).map(({ name }) => name)).toEqual([
    "tests",
    "tests",
    "tests",
  ]);
});

test("Q22 What evidence justified this memory write, from which kind of source, at what scope, can it be rolled back?", async () => {
  const { memory } = rath;
  const rule = await memory.get("slug-rule");
  expect(rule).toMatchObject({ origin: "validation", scope: "project", trust: "untrusted", because: [session.checks[2]?.event] });
  expect((await memory.why("slug-rule")).hops.slice(0, 2).map(({ relation, event }) => [relation, event.id])).toEqual([
    ["wrote", rule?.event],
    ["justified", session.checks[2]?.event],
  ]);
  const back = await memory.rollback((rule?.revision ?? 0) - 1, { by: "human:ada", reason: "only to see" });
  expect(back.map((item) => [item.key, item.state]).toSorted()).toEqual([
    ["changelog", "retracted"],
    ["release-day", "retracted"],
    ["slug-rule", "retracted"],
    ["style", "published"],
  ]);
  await memory.rollback(rule?.revision ?? 0, { by: "human:ada", reason: "it was right" });
  expect(await memory.get("slug-rule")).toMatchObject({ state: "published", content: "Slugs drop accents." });
});

test("Q23 Which agent gets the session next, with what context, which sandbox runs the next command, what validation is required? Why was this workflow selected?", () => {
  const candidates = ["plan", "attempt"];
  expect(session.routes).toMatchObject([
    { choice: "plan", candidates, reason: "nothing is planned yet", memory: "project" },
    {
      ...{ choice: "attempt", candidates, reason: "there is a plan", check: "tests", placement: { sandbox: where, env: { CI: "1" } } },
      context: `Carry out this plan: ${said("split accents off")?.text}`,
    },
    { choice: "done", candidates, reason: "the tests pass" },
  ]);
});

test("Q25 What did it cost, where did the budget cross, where was it interrupted?", async () => {
  const { rows, total, usage, crossed, interrupted } = await cost(session, { by: "model" });
  expect(usage).toMatchObject({ input: 21_000, output: 2100, usd: expect.closeTo(0.1176, 10) });
  expect(total.usage).toMatchObject({ input: 24_000, output: 2400, usd: expect.closeTo(0.1344, 10) });
  expect(rows.map(({ name, calls, usage: { usd } }) => [name, calls, usd])).toEqual([
    ["acme/deep", 9, expect.closeTo(0.112, 10)],
    ["acme/fast", 16, expect.closeTo(0.0224, 10)],
  ]);
  expect(crossed).toMatchObject([{ run: runs.repair, by: "repair/desk/attempt/costly", limit: "usd", of: 0.02, spent: 0.014 }]);
  expect((await branches()).get("costly")?.stop).toBe("budget");
  // It also waited five times, for people and a signal: that is no interruption.
  expect(interrupted).toMatchObject([{ run: runs.repair, abandoned: true }]);
  // In the middle of what: nobody knew what had become of it, so a person was asked.
  const [lost] = (await decisions(session)).filter(({ pending }) => pending.kind === "unknown");
  expect(lost?.pending).toMatchObject({ op: "upload", input: { version: "1.0.1" }, by: "repair" });
});

test("Q26 Who still owns the sandbox handle, and was it cleaned up?", async () => {
  const labels = new Map([...(await branches())].map(([label, { id }]) => [id, label]));
  const records = (await all(rath.sandboxes())).filter(({ session: id }) => labels.has(id));
  expect(records.map((record) => [labels.get(record.session), record.run, record.status, record.closed?.reason]).toSorted()).toEqual(
    [
      ...["thorough", "notes", "small", "costly"].map((label) => [label, runs.repair, "lost", undefined]),
      ["Slugs without accents", runs.follow, "closed", "the run ended"],
    ].toSorted(),
  );
  expect(await all(rath.sandboxes({ status: "open" }))).toEqual([]);
});

test("Q27 How do external (MCP) effects return as lineage, artifacts, backend evidence?", async () => {
  const ticket = `${rich.folder}/board/slug-7.txt`;
  const [read, written] = session.calls.filter(({ input }) => (input as { readonly path?: string } | undefined)?.path === ticket);
  expect([read, written]).toMatchObject([
    { input: { path: ticket }, outcome: { type: "ok", value: { content: "slugs: open\n" } }, by: planner, sandbox: undefined },
    { input: { path: ticket, content: "slugs: in progress\n" }, outcome: { type: "ok" }, by: planner, changes: [] },
  ]);
  // Which server it was, of which version and with which tools, is on record before the model that was given them.
  const [, listed] = [...session.events()].filter(
    ({ kind, by }) => kind.startsWith("do.") && by === planner,
  ) as readonly Event<"do.returned">[];
  expect(listed?.data.value).toMatchObject({
    server: "secure-filesystem-server",
    version: "0.2.0",
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const { hops } = await why(session, { event: written?.event ?? "" });
  expect(hops.slice(0, 2).map(({ relation, event }) => `${relation} ${event.by}`)).toEqual([`called ${planner}`, `decided ${planner}`]);
  expect(hops.map(({ event }) => event.id)).toContain(read?.event);
});

test("Q28 What moves between roles besides transcript text?", async () => {
  const handed = session.at(called("transfer_to_lead")[0]?.event ?? "");
  const reply = session.messages.find(({ by }) => by === `${planner}/lead`);
  const taken = session.at(reply?.event ?? "");
  // Files, placement and memory are the same value; usage goes on; model, tools and output are the receiver's own.
  expect([taken.files.hash, taken.placement, taken.memory.reads.map(nameOf)]).toEqual([
    ...[handed.files.hash, handed.placement],
    ["memory://project/test-command@1", "memory://project/test-command@1", "memory://project/style@1"],
  ]);
  expect([handed.usage.usd, taken.usage.usd]).toEqual([expect.closeTo(0.0084, 10), expect.closeTo(0.0224, 10)]);
  const { model, tools, output, messages } = await taken.request();
  expect([model, tools, output]).toMatchObject(["acme/deep", [], { required: ["steps"] }]);
  expect(JSON.stringify(messages)).toContain("Slugs of this repository keep accents.");
  // A route says the rest: scope of memory, placement, and the check that must pass; the run's budget stands above them all.
  expect(session.routes.map(({ memory, placement, check }) => [memory, placement?.sandbox, check])).toEqual([
    ["project", undefined, undefined],
    [undefined, where, "tests"],
    [undefined, undefined, undefined],
  ]);
  expect((await told(runs.repair)).find(({ kind }) => kind === "run.started")?.data).toMatchObject({ limits: { usd: 5 } });
});
