/** What the reference's durable runs can do, where no other test says it in one place. */
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { all } from "../support/memory.ts";
import { otherProcess, until } from "../support/other-process.ts";

describe("a run", () => {
  test("is queued, running, waiting, done, failed and cancelled, each on record and each found by it", async () => {
    const store = memoryStore();
    let go: () => void = () => {};
    const open = new Promise<void>((resolve) => {
      go = resolve;
    });
    const steps = new Flow(async (session) => (await session.do("wait outside", () => open)).ask("Go on?"), "steps");
    const failing = new Flow(() => Promise.reject(new Error("no")), "failing");
    await using rath = otherProcess(store, { workflows: { steps, failing } });
    const found = async (status: "queued" | "running" | "waiting" | "done" | "failed" | "cancelled") =>
      (await all(rath.runs({ status }))).map(({ id }) => id);

    const run = await rath.run("steps", rath.session(), { queue: true });
    expect(await found("queued")).toEqual([run.id]);
    await rath.resume(run.id);
    await until("its beginning", async () => (await run.status()) === "running");
    expect(await found("running")).toEqual([run.id]);
    go();
    const settled = await run.settle();
    expect(await found("waiting")).toEqual([run.id]);
    await rath.decide(settled.status === "waiting" ? (settled.pending[0]?.id ?? "") : "", { by: "human:ada", answer: "yes" });
    await run.result();
    expect(await found("done")).toEqual([run.id]);

    const failed = await rath.run(failing, rath.session());
    await failed.settle();
    expect(await found("failed")).toEqual([failed.id]);
    const cancelled = await rath.run("steps", rath.session(), { queue: true });
    await cancelled.cancel("no longer wanted");
    expect(await found("cancelled")).toEqual([cancelled.id]);
    expect([...(await found("queued")), ...(await found("running")), ...(await found("waiting"))]).toEqual([]);
  });

  test("keeps the revision of its workflow, and who takes it up with another one says so", async () => {
    class Asking extends Workflow {
      readonly name = "asking";
      readonly version: string;
      constructor(version: string) {
        super();
        this.version = version;
      }
      async forward(session: Parameters<Flow["forward"]>[0]) {
        return session.ask("Well?");
      }
    }
    const store = memoryStore();
    const [one, two] = [new Asking("1"), new Asking("2")];
    await using first = otherProcess(store, { workflows: { asking: one } });
    const run = await first.run(one, first.session());
    const settled = await run.settle();
    await first.close();
    await using second = otherProcess(store, { workflows: { asking: two } });
    await second.decide(settled.status === "waiting" ? (settled.pending[0]?.id ?? "") : "", { by: "human:ada", answer: "yes" });
    await (await second.resume(run.id)).result();
    const texts = (await all(store.events({ session: run.id }))).map(({ data }) => new TextDecoder().decode(data));
    const said = texts.flatMap((text) => /"revision":"([^"]+)"/.exec(text)?.[1] ?? []);
    expect(said).toEqual([one.describe().revision, two.describe().revision]);
    expect(said[0]).not.toBe(said[1]);
  });
});
