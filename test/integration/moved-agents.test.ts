/** An agent whose branch somebody else continued first: what it did is linked again as a fork, and everything in it still fits. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { Agent, openrath, replay, type Session, scripted, tool, verify } from "../../src/index.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-moved-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The second place takes a while: what came before it is written, and so moved, while the round is open. */
const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.int() }),
  repeat: "safe",
  run: async ({ at }) => {
    if (at === 2) await new Promise((resolve) => setTimeout(resolve, 25));
    return at * 2;
  },
});
const calls = (...at: readonly number[]) => ({ calls: at.map((one) => ({ tool: "look", input: { at: one } })) });

/** Runs an agent on a value that another process has continued meanwhile. */
async function moved(agent: Agent, work: (session: Session) => Promise<void>): Promise<void> {
  const store = join(folder, "store.db");
  await using here = openrath({ store, implicitForks: "allow" });
  await using there = openrath({ store, implicitForks: "allow" });
  const first = await here.session("Go.").do("begin", () => 1);
  await (await there.open(first.id)).do("go on elsewhere", () => 2);
  const session = await agent.forward(first.say("And here?"));
  expect([session.id === first.id, session.lineage.implicit]).toEqual([false, true]);
  await work(session);
  await work(await there.open(session.id));
  expect((await verify(session)).problems).toEqual([]);
  expect(String(await replay(session, agent))).toMatch(/^identical/);
}

test.each([1, 3])("what its models read is digested again, and %i calls of a round keep their results", async (size) => {
  const at = Array.from({ length: size }, (_, index) => index + 1);
  const agent = new Agent({ model: scripted(calls(...at), calls(7), "done"), tools: [look] });
  await moved(agent, async (session) => {
    expect(session.calls.map(({ outcome }) => outcome)).toEqual([...at, 7].map((one) => ({ type: "ok", value: one * 2 })));
    const asked = [...session.events()].filter((event) => event.kind === "model.called");
    const read = await Promise.all(asked.map((event) => session.at(event.id).request()));
    expect(read.map(({ messages }) => messages.length)).toEqual([2, 4, 6]);
  });
});

test("messages that a hook put in place of the log's are found", async () => {
  const parts = [{ type: "text", text: "Something else." }] as const;
  const hooks = { beforeModel: (request: object) => ({ ...request, messages: [{ role: "user", parts }] }) as never };
  const agent = new Agent({ model: scripted("done"), hooks });
  await moved(agent, async (session) => expect((await session.request()).messages).toEqual([{ role: "user", parts }]));
});
