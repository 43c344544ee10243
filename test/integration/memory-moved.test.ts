/** Memory of a branch that somebody else continued first: what was done is linked again as a fork, and every name still fits. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openrath, type Rath, type Session, verify } from "../../src/index.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { all, published, Steps } from "../support/memory.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-moved-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Works on a value that another process has continued meanwhile. Gives back what came of it as a third process reads it. */
async function moved(work: (first: Session, rath: Rath) => Promise<Session>, look: (session: Session, rath: Rath) => Promise<void>) {
  const store = join(folder, "store.db");
  await using here = openrath({ store, implicitForks: "allow" });
  await using there = openrath({ store, implicitForks: "allow" });
  const known = await here.session("Know this.").remember({ key: "known", content: "the sky is blue" });
  await here.memory.publish(known);
  const first = await here.session("Go.").do("begin", () => 1);
  await (await there.open(first.id)).do("go on elsewhere", () => 2);
  const session = await work(first.say("And here?"), here);
  expect([session.id === first.id, session.lineage.implicit]).toEqual([false, true]);
  await using later = openrath({ store, implicitForks: "allow" });
  const opened = await later.open(session.id);
  expect((await verify(opened)).problems).toEqual([]);
  await look(opened, later);
}

const idsOf = (session: Session): ReadonlySet<string> => new Set([...session.events()].map(({ id }) => id));

test("what is remembered is because of an event that is there", async () => {
  await moved(
    async (session, rath) => {
      const staged = await session.remember({ key: "k", content: "c" });
      await rath.memory.publish(staged);
      return staged;
    },
    async (session, rath) => {
      const ids = idsOf(session);
      const item = await rath.memory.get("k");
      expect([item?.session, item?.because.every((id) => ids.has(id)), ids.has(item?.event ?? "")]).toEqual([session.id, true, true]);
      expect(String(await rath.memory.why("k"))).toContain("And here?");
    },
  );
});

test("so is what is published at once, and what names its evidence", async () => {
  await moved(
    async (session) => {
      const because = [session.messages.at(-1)?.event ?? ""];
      return session.remember({ key: "k", content: "c", because, publish: "now" });
    },
    async (session, rath) => {
      const ids = idsOf(session);
      const item = await rath.memory.get("k");
      expect([item?.session, item?.because.every((id) => ids.has(id)), ids.has(item?.event ?? "")]).toEqual([session.id, true, true]);
      expect(session.memory.writes[0]?.because).toEqual(item?.because);
      const called = [...session.events()].find((event) => event.kind === "remember.called");
      expect(called?.data).toMatchObject({ because: item?.because });
    },
  );
});

test("a use of what it recalled is found", async () => {
  await moved(
    (session) => session.recall("sky"),
    async (session, rath) => {
      const uses = await all(rath.memory.usedBy("known"));
      expect(uses.map((use) => [use.session, idsOf(session).has(use.event)])).toEqual([[session.id, true]]);
    },
  );
});

test("a run that merges, recalls and remembers publishes under the names that are there", async () => {
  const workflow: Workflow = new Steps(async (session) => {
    const [left, right] = await Promise.all(
      ["left", "right"].map((label) => session.fork(label).remember({ key: "side", content: label })),
    );
    const merged = await (left as Session).merge([right as Session], { conflicts: "theirs" });
    const recalled = await merged.recall("sky side left right");
    return recalled.remember({ key: "k", content: "c" });
  });
  await moved(
    (session) => workflow.forward(session),
    async (session, rath) => {
      expect(await published(rath)).toEqual({ known: "the sky is blue", side: "right", k: "c" });
      for (const read of session.memory.reads.filter(({ state }) => state === "staged"))
        expect((await rath.memory.get(read.uri))?.event).toBe(read.event);
      expect(session.memory.reads.map(({ key }) => key).sort()).toEqual(["known", "side"]);
      const uses = await all(rath.memory.usedBy("known"));
      const recall = session.memory.reads[0]?.recall.event ?? "";
      expect(uses.map(({ event }) => event)).toEqual([recall]);
    },
  );
});
