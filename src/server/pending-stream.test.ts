/** The stream of what waits: whole at first, then as it comes and goes, and always what `rath.pending()` says. */
import { expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { type Listening, listen, type Told } from "../../test/support/sse.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import { tool } from "../tool/tool.ts";
import { createServer } from "./server.ts";

const url = "http://localhost/v1/pending/stream";
const open = { auth: "none-on-loopback" } as const;

/** What waits, as somebody knows who has read only the stream. */
class Board {
  readonly waiting = new Map<string, { kind: string }>();
  readonly told: string[] = [];

  take({ type, data }: Told): void {
    this.told.push(type);
    if (type === "snapshot") {
      this.waiting.clear();
      for (const one of data.pending) this.waiting.set(one.id, one);
    } else if (type === "pending") this.waiting.set(data.pending.id, data.pending);
    else if (type === "settled") this.waiting.delete(data.id);
  }

  async until(stream: Listening, holds: () => boolean): Promise<void> {
    while (!holds()) this.take((await stream.next()) as Told);
  }

  get kinds(): string[] {
    return [...this.waiting.values()].map(({ kind }) => kind).sort();
  }
}

const drop = tool({ name: "drop", description: "Drops", input: z.object({}), needsApproval: true, repeat: "once", run: () => "dropped" });
const hidden = tool({ name: "hidden", description: "Is not allowed", input: z.object({}), run: () => "never" });

test("what waits is told whole, then as it comes and goes", async () => {
  const flow = new Flow(async (session) => {
    const asked = await session.ask("Really?", z.boolean());
    const heard = await asked.receive("go");
    return heard.wait("1h");
  });
  const approved = new Agent({
    name: "approved",
    model: scripted({ calls: [{ tool: "hidden", input: {} }] }, { calls: [{ tool: "drop", input: {} }] }, "Done"),
    tools: [drop, hidden],
  });
  await using rath = openrath({
    store: "memory",
    workflows: { flow, approved },
    policy: { deny: ["hidden"] },
  });
  await using server = createServer(rath, open);
  const first = await rath.run("flow", rath.session("Go"));
  await first.settle();
  await using stream = await listen(server.fetch, url);
  const board = new Board();
  const agrees = async (): Promise<void> => {
    expect([...board.waiting.keys()].sort()).toEqual((await rath.pending()).map(({ id }) => id).sort());
  };
  await board.until(stream, () => board.told.length === 1);
  expect(board.kinds).toEqual(["question"]);
  await agrees();

  const second = await rath.run("approved", rath.session("Drop it"));
  await board.until(stream, () => board.waiting.size === 2);
  expect(board.kinds).toEqual(["approval", "question"]);
  await second.settle();
  await agrees();
  // A call that was refused at once never waited for anybody.
  expect(board.told).toEqual(["snapshot", "pending"]);

  const approval = [...board.waiting].find(([, { kind }]) => kind === "approval")?.[0] as string;
  await rath.decide(approval, { by: "human:ada", approve: true });
  await board.until(stream, () => board.waiting.size === 1);
  await second.result();
  const question = [...board.waiting.keys()][0] as string;
  await rath.decide(question, { by: "human:ada", answer: true });
  await board.until(stream, () => board.kinds.join() === "signal");
  await rath.send(first.id, "go", {});
  await board.until(stream, () => board.kinds.join() === "timer");
  await first.settle();
  await agrees();

  // Somebody who comes now is told the same without anything being asked again.
  await using late = await listen(server.fetch, url);
  const other = new Board();
  await other.until(late, () => other.told.length === 1);
  expect([...other.waiting.keys()]).toEqual([...board.waiting.keys()]);
  await first.cancel("enough");
  await board.until(stream, () => board.waiting.size === 0);
  await other.until(late, () => other.waiting.size === 0);
  await agrees();
});

test("a call that stands behind another one is not told, and an approval that its call does not speak of is", async () => {
  let end = (): void => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  let running = 0;
  const pay = tool({
    name: "pay",
    description: "Pays",
    input: z.object({}),
    resource: () => "till",
    run: () => {
      running++;
      return done;
    },
  });
  const remove = tool({ name: "remove", description: "Removes", input: { type: "object" }, needsApproval: true, run: () => "removed" });
  const calls = ["pay", "pay", "remove"].map((name) => ({ tool: name, input: {} }));
  const clerk = new Agent({ name: "clerk", model: scripted({ calls }, "Done"), tools: [pay, remove] });
  await using rath = openrath({ store: "memory", workflows: { clerk } });
  await using server = createServer(rath, open);
  await using stream = await listen(server.fetch, url);
  const board = new Board();
  await board.until(stream, () => board.told.length === 1);
  const run = await rath.run("clerk", rath.session("Pay twice, and remove"));
  await board.until(stream, () => board.waiting.size > 0);
  expect(running).toBe(1);
  expect([...board.waiting.values()]).toMatchObject([{ kind: "approval", tool: "remove" }]);
  await rath.decide([...board.waiting.keys()][0] as string, { by: "human:ada", approve: true });
  await board.until(stream, () => board.waiting.size === 0);
  end();
  await run.result();
  expect(board.told).toEqual(["snapshot", "pending", "settled"]);
});
