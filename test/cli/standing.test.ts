/** How a session stands is told as the runs that work on it stand, on whichever branch of them something is done or waits. */
import { expect, test } from "vitest";
import { projectOf } from "../../src/cli/project.ts";
import type { Session } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { call } from "../golden-cli/world.ts";
import { Flow } from "../support/flow.ts";
import { kept } from "../support/other-process.ts";

/** One branch is done with, and another asks. */
const flow = new Flow(async (session: Session) => {
  await session.fork("first").do("look", () => 1);
  return session.fork("second").ask("May it be released?");
}, "release");

/** What a command says, on a Rath of its own. */
async function asked(store: Store, line: readonly string[]): Promise<unknown> {
  const rath = testRath({ store });
  return JSON.parse((await call(() => projectOf(rath, undefined), [...line, "--json"], { terminal: false })).out);
}

async function told(store: Store, id: string): Promise<{ readonly ls: object; readonly show: object; readonly listed: readonly string[] }> {
  const json = (...line: string[]): Promise<unknown> => asked(store, line);
  const [ls] = (await json("ls")) as [{ readonly status: string }];
  const { status, pending } = (await json("show", id)) as { readonly status: string; readonly pending: readonly { readonly id: string }[] };
  const listed = (await json("ls", "--status", ls.status)) as readonly { readonly id: string }[];
  return { ls: { status: ls.status }, show: { status, pending: pending.map((one) => one.id) }, listed: listed.map((one) => one.id) };
}

// Mutant: a session is what its own line says, and what its forks wait for is said nowhere.
test("a session waits while a branch of its run does, and not before or after", async () => {
  const store = kept(memoryStore());
  await using rath = testRath({ store, workflows: { release: flow } });
  const session = await rath.save(rath.session("Release 1.2"));
  expect((await told(store, session.id)).ls).toEqual({ status: "idle" });
  const run = await rath.run("release", session);
  await run.settle();
  const [question] = await rath.pending();
  expect(question?.session).not.toBe(session.id);
  expect(await told(store, session.id)).toEqual({
    ls: { status: "waiting" },
    show: { status: "waiting", pending: [question?.id] },
    listed: [session.id],
  });
  // At a step it is what it was.
  expect(await asked(store, ["show", `${session.id}@2`])).toMatchObject({ status: "idle", pending: [] });
  await rath.decide(question?.id ?? "", { by: "ada", answer: "yes" });
  await run.result();
  expect(await told(store, session.id)).toEqual({ ls: { status: "idle" }, show: { status: "idle", pending: [] }, listed: [session.id] });
});

// Mutants: a session that is executed "waits"; one whose run only stands in the queue is idle.
test("a session is running while its run is executed, and queued before", async () => {
  const store = kept(memoryStore());
  await using rath = testRath({ store, workflows: { slow: new Flow((session: Session) => session.do("slow", () => over), "slow") } });
  let end = (): void => {};
  const over = new Promise<string>((resolve) => {
    end = () => resolve("done");
  });
  const queued = await rath.run("slow", rath.session("Later"), { queue: true });
  expect((await told(store, queued.session)).ls).toEqual({ status: "queued" });
  const run = await rath.run("slow", rath.session("Now"));
  await expect.poll(async () => (await told(store, run.session)).show).toMatchObject({ status: "running" });
  end();
  await run.result();
  expect((await told(store, run.session)).show).toMatchObject({ status: "idle" });
});
