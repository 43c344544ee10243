/** `rath.sandboxes`: who holds a sandbox, whether it was cleaned up and why, from the runs' own logs. */
import { describe, expect, test } from "vitest";
import type { Rath } from "../../src/runtime/rath.ts";
import type { SandboxRecord, Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { shell } from "../../src/tool/builtin/tools.ts";
import { tool } from "../../src/tool/tool.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";
import { sharedStore } from "../support/shared-store.ts";

async function all(rath: Rath, query?: Parameters<Rath["sandboxes"]>[0]): Promise<readonly SandboxRecord[]> {
  const found: SandboxRecord[] = [];
  for await (const record of rath.sandboxes(query)) found.push(record);
  return found;
}

const run = (session: Session): Promise<Session> => session.call(shell, { command: "true" });
const placed = (rath: Rath): Session => rath.session("go").to("memory", {});

/** Opens its sandbox and then waits for a word. */
function slow() {
  let say = (): void => {};
  const word = new Promise<void>((resolve) => {
    say = resolve;
  });
  let opened = false;
  const wait = tool({
    name: "wait",
    description: "Waits.",
    input: { type: "object" },
    writes: "files",
    run: async (_, { sandbox }) => {
      await sandbox.exec("true");
      opened = true;
      await word;
    },
  });
  return { flow: new Flow(async (session) => (await run(session)).call(wait, {})), say, opened: () => opened };
}

describe("rath.sandboxes", () => {
  test("says which session and run hold one now, and when and why it was closed", async () => {
    await using rath = testRath();
    expect(await all(rath)).toEqual([]);
    const { flow, say, opened } = slow();
    const durable = await rath.run(flow, placed(rath));
    await until("the opening", opened);
    const [held, ...others] = await all(rath, { status: "open" });
    expect(others).toEqual([]);
    expect(held).toMatchObject({ sandbox: "memory", isolation: "process", workspace: "mirror", run: durable.id, session: durable.session });
    expect(held).toMatchObject({ opened: expect.stringMatching(/^2026-/), closed: undefined });
    say();
    await durable.result();
    expect(await all(rath, { status: "open" })).toEqual([]);
    expect(await all(rath)).toMatchObject([
      { id: held?.id, status: "closed", closed: { at: expect.stringMatching(/^2026-/), reason: expect.any(String), problem: undefined } },
    ]);
  });

  test("is asked by session and by run, of effects outside a run too", async () => {
    await using rath = testRath();
    const outside = await run(placed(rath));
    const durable = await rath.run(new Flow(run), placed(rath));
    const inside = await durable.result();
    const [first, second] = await all(rath);
    expect([first?.session, second?.session].sort()).toEqual([outside.id, inside.id].sort());
    expect(await all(rath, { session: outside.id })).toMatchObject([{ session: outside.id, status: "open" }]);
    expect(await all(rath, { run: durable.id })).toMatchObject([{ session: inside.id, run: durable.id, status: "closed" }]);
    expect(await all(rath, { run: durable.id, session: outside.id })).toEqual([]);
  });

  test("a dead process loses its sandboxes: those of a run are lost, of work outside runs nobody can tell", async () => {
    const store = sharedStore();
    const dead = otherProcess(store);
    const outside = await run(placed(dead));
    const { flow, opened } = slow();
    const durable = await dead.run(flow, placed(dead));
    await until("the opening", opened);
    const here = otherProcess(store);
    expect(await all(here, { session: outside.id })).toMatchObject([{ status: "unknown", closed: undefined }]);
    const [lost] = await until(
      "the opening on record",
      async () => (await all(here, { run: durable.id })).length > 0 && all(here, { status: "lost" }),
    );
    expect(lost).toMatchObject({ run: durable.id, session: durable.session, closed: undefined });
    const again = slow();
    again.say();
    await (await here.resume(durable.id, { workflow: again.flow })).result();
    expect((await all(here, { run: durable.id })).map(({ status }) => status)).toEqual(["lost", "closed"]);
    await here.close();
    await dead.close();
  });
});
