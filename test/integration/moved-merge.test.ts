/** Branches that were merged before anything of them was written, on a session that somebody else continued first. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openrath, type Session, verify } from "../../src/index.ts";
import { Flow } from "../support/flow.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-moved-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const step = (session: Session, name: string): Promise<Session> => session.do(name, () => name, { repeat: "safe" });

test("are linked again in their order, each on what it stood on", async () => {
  const flow = new Flow(async (session) => {
    const [left, right] = (await Promise.all(["left", "right"].map((name) => step(session.fork(name), name)))) as [Session, Session];
    const crossed = await right.fork("crossed").merge(left);
    const merged = await left.merge([right, crossed]);
    return step(merged, "end");
  });
  const store = join(folder, "store.db");
  await using here = openrath({ store, implicitForks: "allow" });
  await using there = openrath({ store, implicitForks: "allow" });
  const first = await step(here.session("Go."), "begin");
  await step(await there.open(first.id), "go on elsewhere");
  const session = await flow.forward(first.say("And here?"));
  expect([session.id === first.id, session.lineage.implicit]).toEqual([false, true]);
  await using later = openrath({ store, implicitForks: "allow" });
  const opened = await later.open(session.id);
  expect((await verify(opened)).problems).toEqual([]);
  expect(opened.output).toBe("end");
});
