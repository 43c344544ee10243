/** What callers do to sessions: recorded as theirs, nothing lost when several do it at once. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openrath } from "../../src/openrath.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { Flow } from "../support/flow.ts";
import { serve } from "../support/served.ts";

const world = () => serve(testRath({ implicitForks: "allow" }));

describe("a caller", () => {
  // Mutant: openSession leaves out the identity.
  test("says, notes, checks, forks, merges and rejects under their own name, whoever made the session", async () => {
    await using server = world();
    const bob = await server.as("human:bob", ["operator"]);
    const { id } = await server.ask("createSession", {}, { message: "Hello" });
    const said = await bob.ask("sayInSession", { session: id }, { message: "And?" });
    expect(said).toMatchObject({ id, step: 3, principal: "human:local" });
    await bob.ask("noteInSession", { session: id }, { text: "look at this" });
    const { check, session: checked } = await bob.ask(
      "addCheck",
      { session: id },
      { name: "feedback", passed: false, score: 0.25, reason: "no" },
    );
    expect(check).toMatchObject({ name: "feedback", passed: false, score: 0.25, reason: "no" });
    expect((await bob.ask("getChecks", { session: id })).items).toEqual([check]);
    const fork = await bob.ask("forkSession", { session: id }, { at: 2, label: "other" });
    expect(fork).toMatchObject({ parent: id, lineage: { kind: "fork", label: "other", implicit: false } });
    await bob.ask("sayInSession", { session: fork.id }, { message: "Elsewhere" });
    const merged = await bob.ask("mergeSessions", { session: id }, { others: [fork.id], reason: "both", ifHead: checked.head });
    expect(merged).toMatchObject({ id, lineage: { kind: "merge" } });
    expect(await bob.ask("rejectSession", { session: fork.id }, { reason: "merged" })).toMatchObject({ status: "rejected" });
    const { items } = await bob.ask("getEvents", { session: id });
    const own = items.filter(({ step }: { step: number }) => step > 2);
    expect(own.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(["message.added", "note.added", "check.called", "check.returned", "session.forked", "session.merged"]),
    );
    expect(own.filter(({ by }: { by: string }) => by !== "human:bob")).toEqual([]);
    expect((await bob.ask("verifySession", { session: id }, {})).problems).toEqual([]);
  });

  test("who may only read is refused, and nothing is added", async () => {
    await using server = world();
    const viewer = await server.as("human:eve", ["viewer"]);
    const { id, head } = await server.ask("createSession", {}, { message: "Hello" });
    for (const [route, body] of [
      ["sayInSession", { message: "x" }],
      ["noteInSession", { text: "x" }],
      ["rejectSession", { reason: "x" }],
      ["forkSession", {}],
      ["mergeSessions", { others: [id] }],
      ["addCheck", { name: "x", passed: true }],
      ["replaySession", {}],
      ["rerunSession", {}],
      ["verifySession", { replay: true }],
    ] as const)
      expect(await viewer.refused(route, { session: id }, body), route).toMatchObject({ status: 403, code: "access.forbidden" });
    expect(await viewer.refused("createSession", {}, { message: "x" })).toMatchObject({ status: 403 });
    expect(await viewer.refused("deleteSession", { session: id, reason: "x" })).toMatchObject({ status: 403 });
    expect(await viewer.refused("erase", {}, { session: id, reason: "x" })).toMatchObject({ status: 403 });
    expect(await viewer.ask("getSession", { session: id })).toMatchObject({ head });
  });
});

describe("several callers at once", () => {
  // Mutant: writes are not in turn.
  test("continue one session one after the other: no message is lost, none forks", async () => {
    // A store that takes its time to write.
    const folder = await mkdtemp(join(tmpdir(), "openrath-at-once-"));
    await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
    await using server = serve(openrath({ store: join(folder, "store.db"), implicitForks: "allow" }));
    const { id } = await server.ask("createSession", {}, { message: "0" });
    const texts = Array.from({ length: 20 }, (_, index) => `${index + 1}`);
    const answers = await Promise.all(texts.map((message) => server.ask("sayInSession", { session: id }, { message })));
    expect(new Set(answers.map((answer) => answer.id))).toEqual(new Set([id]));
    const { items } = await server.ask("getMessages", { session: id });
    expect(items.map(({ text }: { text: string }) => text).sort()).toEqual(["0", ...texts].sort());
  });

  test("who name the same head: exactly one goes on, the others are told the head there is", async () => {
    await using server = world();
    const { id, head } = await server.ask("createSession", {}, { message: "0" });
    const answers = await Promise.all(
      ["a", "b", "c"].map(async (message) => (await server.response("sayInSession", { session: id }, { message, ifHead: head })).status),
    );
    expect(answers.sort()).toEqual([200, 409, 409]);
    const { head: now, step } = await server.ask("getSession", { session: id });
    expect(await server.refused("sayInSession", { session: id }, { message: "d", ifHead: head })).toMatchObject({
      status: 409,
      code: "store.conflict",
      details: { session: id, head: now, step, ifHead: head },
    });
    expect((await server.ask("getMessages", { session: id })).items).toHaveLength(2);
    expect((await server.ask("getSessions")).items).toHaveLength(1);
  });

  test("while a run of this process works on it: the answer is an implicit fork, or 409 for who named the head", async () => {
    let [finish, begin] = [() => {}, () => {}];
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const began = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const slow = new Flow(
      async (session) =>
        session.do("slow", async () => {
          begin();
          await done;
          return "done";
        }),
      "slow",
    );
    await using server = serve(testRath({ workflows: { slow }, implicitForks: "allow" }));
    const session = await server.rath.save(server.rath.session("go"));
    const run = await server.rath.run("slow", session);
    await began;
    const { head } = await server.ask("getSession", { session: session.id });
    expect(await server.refused("sayInSession", { session: session.id }, { message: "wait", ifHead: head })).toMatchObject({
      status: 409,
      code: "store.conflict",
    });
    // Nothing was added, not even a branch that is rejected.
    expect((await server.ask("getSessions")).items).toHaveLength(1);
    const said = await server.ask("sayInSession", { session: session.id }, { message: "wait" });
    expect(said).toMatchObject({ parent: session.id, lineage: { kind: "fork", implicit: true } });
    finish();
    expect((await run.result()).id).toBe(session.id);
    expect((await server.ask("getMessages", { session: said.id })).items.at(-1)).toMatchObject({ text: "wait" });
  });

  // Mutant: what moved is answered under its old id.
  test("of two processes: the slower one goes on as an implicit fork, and is told so", async () => {
    const shared = memoryStore();
    let others: (() => Promise<void>) | undefined;
    // The other process writes in the moment between reading and writing.
    const store = {
      ...shared,
      append: async (write: Parameters<typeof shared.append>[0]) => {
        const first = others;
        others = undefined;
        await first?.();
        return shared.append(write);
      },
      [Symbol.asyncDispose]: async () => {},
    };
    await using other = openrath({ store: shared, implicitForks: "allow" });
    await using server = serve(openrath({ store, implicitForks: "allow" }));
    const { id, head } = await server.ask("createSession", {}, { message: "0" });
    const elsewhere = (text: string) => async (): Promise<void> => void (await other.save((await other.open(id)).say(text)));
    others = elsewhere("theirs");
    const said = await server.ask("sayInSession", { session: id }, { message: "ours" });
    expect(said.id).not.toBe(id);
    expect(said).toMatchObject({ parent: id, lineage: { kind: "fork", implicit: true } });
    expect((await server.ask("getMessages", { session: said.id })).items.map(({ text }: { text: string }) => text)).toEqual(["0", "ours"]);
    const now = await server.ask("getSession", { session: id });
    others = elsewhere("theirs again");
    expect(await server.refused("sayInSession", { session: id }, { message: "late", ifHead: now.head })).toMatchObject({ status: 409 });
    const { items } = await server.ask("getMessages", { session: id });
    expect(items.map(({ text }: { text: string }) => text)).toEqual(["0", "theirs", "theirs again"]);
    expect((await server.ask("getSessions", { status: "rejected" })).items).toHaveLength(1);
    expect(head).not.toBe(now.head);
  });

  test("a Rath that refuses implicit forks answers 409", async () => {
    const slow = new Flow(async (session) => session.ask("Go on?"), "slow");
    await using server = serve(testRath({ workflows: { slow }, implicitForks: "error" }));
    const session = await server.rath.save(server.rath.session("go"));
    const run = await server.rath.run("slow", session);
    await run.settle();
    expect(await server.refused("sayInSession", { session: session.id }, { message: "x" })).toMatchObject({
      status: 409,
      code: "session.implicit-fork",
    });
  });
});

describe("merging", () => {
  test("conflicts are listed, answered with 409 and all of them, and settled by a side", async () => {
    await using server = world();
    const write = (text: string) => (session: Awaited<ReturnType<typeof server.rath.open>>) =>
      session.do("write", async ({ sandbox }) => sandbox.write("a.txt", text), { repeat: "safe" });
    const base = await write("base\n")(server.rath.session("go").to("memory"));
    const ours = await write("ours\n")(base.fork("ours"));
    const theirs = await write("theirs\n")(base.fork("theirs"));
    const { items } = await server.ask("getConflicts", { session: ours.id, with: theirs.id });
    expect(items).toMatchObject([{ kind: "file", path: "a.txt" }]);
    const refused = await server.refused("mergeSessions", { session: ours.id }, { others: [theirs.id] });
    expect(refused).toMatchObject({ status: 409, code: "merge.conflict", details: { conflicts: items } });
    expect(await server.ask("getSession", { session: ours.id })).toMatchObject({ head: ours.head });
    const merged = await server.ask("mergeSessions", { session: ours.id }, { others: [theirs.id], conflicts: "theirs" });
    expect(await server.ask("getFileContent", { session: merged.id, path: "a.txt" })).toBe("theirs\n");
  });
});

test("what a server was told is there after it was opened again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-served-"));
  try {
    const store = join(folder, "store.db");
    let id = "";
    {
      await using server = serve(openrath({ store }));
      id = (await server.ask("createSession", {}, { message: "Hello" })).id;
      await server.ask("sayInSession", { session: id }, { message: "again" });
    }
    await using server = serve(openrath({ store }));
    expect((await server.ask("getMessages", { session: id })).items).toHaveLength(2);
    expect((await server.ask("getSessions")).items).toMatchObject([{ id, principal: "human:local" }]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
