import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Rath } from "../runtime/rath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { StoredEvent } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { Workflow } from "../workflow/workflow.ts";
import { verify } from "./verify.ts";

let calls = 0;
class Report extends Workflow {
  async forward(session: Session): Promise<Session> {
    const draft = await session.do("draft", () => `text ${++calls}`, { input: { topic: "rain" } });
    const inner = await draft.do("polish", async ({ session: own }) => (await own.do("spell", () => ++calls)).output, { repeat: "nested" });
    return inner.do("publish", () => ++calls);
  }
}
class Changed extends Report {
  override async forward(session: Session): Promise<Session> {
    return (await session.do("draft", () => "never called", { input: { topic: "snow" } })).do("more", () => 1);
  }
}

describe("verify with replay", () => {
  const store = memoryStore();
  let damaged = false;
  let rath: Rath;
  let session: Session;

  beforeAll(async () => {
    const shaky = {
      ...store,
      async *events(query: Parameters<typeof store.events>[0]) {
        const broken = (event: StoredEvent): StoredEvent => ({ ...event, data: Buffer.from("0123456789abcdef{}") });
        for await (const event of store.events(query)) yield damaged && event.session === session.id ? broken(event) : event;
      },
    };
    rath = testRath({ store: shaky, workflows: { Report: new Report() } });
    session = await (await rath.run("Report", rath.session("Write"))).result();
  });
  afterAll(() => rath.close());

  it("says for each step what became of it, and calls nothing", async () => {
    const before = calls;
    for (const replay of [new Report(), true] as const) {
      const { ok, replays, checked } = await verify(session, { replay });
      expect(ok).toBe(true);
      expect(replays).toMatchObject([{ workflow: "Report", identical: true }]);
      const steps = replays[0]?.steps ?? [];
      expect(steps.filter(({ result }) => result === "nested").map(({ kind }) => kind)).toEqual([
        "session.forked",
        "do.called",
        "do.returned",
      ]);
      expect(steps.filter(({ result }) => result !== "nested" && result !== "same")).toEqual([]);
      expect(checked.replayed).toBe(steps.length);
    }
    expect(calls).toBe(before);
  });

  it("names the step at which the program goes another way, with both sides", async () => {
    const { ok, problems, replays } = await verify(session, { replay: new Changed() });
    expect(ok).toBe(false);
    expect(problems).toMatchObject([{ kind: "diverged", field: "input.topic", problem: expect.stringMatching(/was "rain", now "snow"/) }]);
    expect(replays[0]?.steps.map(({ result }) => result).slice(0, 3)).toEqual(["same", "differs", "not-reached"]);
    expect(problems[0]?.event).toBe(replays[0]?.steps[1]?.event);
  });

  it("says so when the workflow is not known, or there was none", async () => {
    await using other = testRath({ store: { ...store, [Symbol.asyncDispose]: async () => {} } });
    expect((await verify(await other.open(session.id), { replay: true })).unchecked).toContainEqual(
      expect.objectContaining({ part: "replay", why: expect.stringContaining('"Report", which openrath({ workflows }) does not name') }),
    );
    await expect(verify(await rath.session("Bare").do("x", () => 1), { replay: true })).rejects.toMatchObject({
      code: "run.not-recorded",
    });
  });

  it("executes nothing against a record that does not hold", async () => {
    damaged = true;
    const { ok, replays, unchecked } = await verify(session, { replay: new Report() });
    damaged = false;
    expect([ok, replays]).toEqual([false, []]);
    expect(unchecked.map(({ part }) => part)).toContain("replay");
  });
});
