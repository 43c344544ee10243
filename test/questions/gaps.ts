/** Where the reference implementation falls short of its own paper, G1 to G12: each on the session in which everything happens. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { graph, write } from "../../src/audit/audit.ts";
import { type Event, openrath, replay, Selector, type Session, scripted, verify } from "../../src/index.ts";
import { writeFile } from "../../src/tool/builtin/tools.ts";
import { where } from "./rich.ts";
import { before, follow, prices, right, small } from "./story.ts";
import { rich, session } from "./world.ts";

async function branch(label: string): Promise<Session> {
  const found = (await graph(session)).nodes.find((node) => node.label === label);
  return rich.rath.open(found?.id ?? "");
}
const ofKind = <K extends Event["kind"]>(kind: K) =>
  [...session.events()].filter((event) => event.kind === kind) as unknown as readonly Event<K>[];

test("G1: a routing choice is on record with its cost, and gives a session", async () => {
  const model = {
    ...scripted({ output: { choice: "follow", reason: "it looks" }, usage: { input: 1000, output: 100 } }),
    id: "acme/fast",
    free: false,
  };
  const described = Object.assign(follow, { description: "Looks whether anything is left." });
  const desk = new Selector({ choices: { follow: described }, choose: model });
  const routed = await desk.select(session.fork("routed"));
  expect(routed.routes.slice(session.routes.length)).toMatchObject([{ choice: "follow", candidates: ["follow"], reason: "it looks" }]);
  expect(routed.usage.usd - session.usage.usd).toBeCloseTo(0.0014, 10);
  expect(routed.lineage).toMatchObject({ kind: "fork", parents: [session.head] });
});

test("G2: compression says what it removed and what it cost, and loses nothing of it", () => {
  const [compression] = session.compressions;
  const after = session.at(compression?.event ?? "");
  const then = session.at((compression?.step ?? 0) - 1);
  expect(after.messages).toEqual(then.messages);
  expect([...(compression?.dropped ?? []), ...(compression?.kept ?? [])].toSorted()).toHaveLength(12);
  expect(compression?.usage).toMatchObject({ input: 1000, output: 100, usd: expect.closeTo(0.0014, 10) });
  expect(after.usage.usd).toBeCloseTo(0.0966, 10);
});

test("G3: recalls and commits are events of their own, with query, scores and revision, never text in a prompt alone", () => {
  expect(session.messages.filter(({ role }) => role === "system")).toEqual([]);
  expect(ofKind("recall.called").map(({ data }) => data.query)).toEqual([
    "how the tests of this repository are run: grep",
    session.messages[0]?.text,
    "Is anything left to do?",
  ]);
  expect(session.memory.reads.every(({ score, recall }) => score > 0 && recall.revision > 0)).toBe(true);
  expect(ofKind("remember.called").map(({ id }) => id)).toEqual(
    session.memory.writes.filter(({ state }) => state === "staged").map(({ event }) => event),
  );
  expect(ofKind("forget.called")).toHaveLength(1);
});

test("G4: usage travels with the value: over every ancestor once, through forks, merges and nested work", () => {
  const spent = [...session.events()].reduce((sum, { facts }) => sum + (facts.usage?.usd ?? 0), 0);
  expect(session.usage.usd).toBeCloseTo(spent, 10);
  expect(session.fork("next").usage).toMatchObject({ usd: session.usage.usd, own: { usd: 0 } });
  expect(session.detach().usage.usd).toBe(0);
});

test("G5: a merge holds the shared part once, and each row names its branch", async () => {
  const events = session.messages.map(({ event }) => event);
  expect(new Set(events).size).toBe(events.length);
  const [thorough, notes] = [await branch("thorough"), await branch("notes")];
  const told = new Map(session.messages.map((message) => [message.text, message.session]));
  expect(told.get("Fix the cause.")).toBe(thorough.id);
  expect(told.get("Note the change.")).toBe(notes.id);
  expect(told.get("Is anything left to do?")).toBe(session.id);
});

test("G6: branches in different places are not merged, and nothing is changed", async () => {
  const put = { path: "a.txt", content: "a\n" };
  const here = await session.fork("here").call(writeFile, put);
  const there = await session.fork("there").to("host").call(writeFile, put);
  await expect(here.merge(there)).rejects.toMatchObject({ code: "merge.refused" });
  expect((await rich.rath.open(here.id)).head).toBe(here.head);
});

test("G7: evidence of a call has its branch, step, sandbox, digests, command and time", () => {
  const call = session.calls.find(({ changes }) => changes[0]?.path === "CHANGES.md");
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(session.at(call?.id ?? "").lineage.label).toBe("notes");
  expect(call).toMatchObject({
    ...{ tool: "shell", by: "repair/desk/attempt/writer", step: expect.any(Number), sandbox: call?.acted?.id },
    ...{ changes: [{ path: "CHANGES.md", kind: "changed", before: digest, after: digest }] },
    acted: { sandbox: where, before: digest, after: digest, commands: [{ exitCode: 0, stdout: "", stderr: "", ms: expect.any(Number) }] },
  });
});

test("G8: a replay finds the first difference, and a resumed run is one history", async () => {
  const report = await replay(session, follow.with({ instructions: "Be brief." }));
  expect(report).toMatchObject({ identical: false, at: { kind: "model.called", by: "follow" } });
  expect(String(report)).toContain("Be brief.");
  // Both lives of the run that was killed: every event has its parents, and the input is among the ancestors.
  expect(await verify(session)).toMatchObject({ ok: true, problems: [] });
  const input = await (await rich.rath.attach(rich.runs.repair)).input();
  expect(session.at(input.head).head).toBe(input.head);
});

test("G9: a detached session names where it comes from", async () => {
  const detached = await rich.rath.save(session.detach());
  expect(detached.lineage).toMatchObject({ kind: "detach", parents: [session.head] });
  expect(detached.messages.map(({ text }) => text)).toEqual(session.messages.map(({ text }) => text));
  expect((await graph(detached)).edges).toContainEqual(expect.objectContaining({ kind: "detached", from: session.id, to: detached.id }));
});

test("G10: branches that ran at once each had files and a sandbox of their own", async () => {
  const texts = await Promise.all(["small", "thorough", "notes"].map(async (label) => (await branch(label)).files.text("slugify.js")));
  expect(texts).toEqual([small, right, before]);
  const opened: string[] = [];
  for await (const { id } of rich.rath.sandboxes({ run: rich.runs.repair })) opened.push(id);
  expect(new Set(opened).size).toBe(4);
});

test("G11: every change of placement is an event, and earlier ones stay", async () => {
  expect(ofKind("placement.changed").map(({ by, data }) => [by, data.sandbox])).toEqual([
    ["ada", "memory"],
    ["repair/desk", where],
  ]);
  expect([session.at(12).placement?.sandbox, session.placement?.sandbox]).toEqual(["memory", where]);
});

test("G12: the export has every branch with its placement, and a bundle has all of it for another store", async () => {
  const rows = join(rich.folder, "lineage.jsonl");
  await write(session, rows, { format: "lineage-jsonl" });
  const lines = (await readFile(rows, "utf8")).trim().split("\n");
  const { nodes } = await graph(session);
  expect(lines.map((line) => (JSON.parse(line) as { readonly id: string }).id).toSorted()).toEqual(nodes.map(({ id }) => id).toSorted());
  expect(lines.map((line) => (JSON.parse(line) as Session).placement?.sandbox)).toContain(where);
  const bundle = join(rich.folder, "all.bundle");
  await write(session, bundle);
  await using other = openrath({ store: join(rich.folder, "other.db"), prices });
  const read = await other.import(bundle);
  expect([read.id, read.head, read.usage]).toEqual([session.id, session.head, session.usage]);
  expect([read.messages, read.calls, read.memory]).toEqual([session.messages, session.calls, session.memory]);
  expect(await read.files.text("slugify.js")).toBe(right);
  // All that its runs wrote, rejected branches too; forks that others made of it later are no part of it.
  expect((await graph(read)).nodes.map(({ label, status }) => `${label} ${status}`).toSorted()).toEqual([
    ...["Slugs without accents idle", "costly rejected", "inside research idle", "inside summarise the conversation idle"],
    ...["notes idle", "small rejected", "thorough idle"],
  ]);
  expect(await verify(read)).toMatchObject({ ok: true });
});
