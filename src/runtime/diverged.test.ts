import { expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { kept, until } from "../../test/support/other-process.ts";
import { composeRath } from "../openrath.ts";
import { outcomeOf, rowNamed } from "../server/run-outcome.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { Workflow } from "../workflow/workflow.ts";
import { machine } from "../workspace/machine.ts";
import type { Rath } from "./rath.ts";
import { runtimeOf } from "./replay.ts";

test("a run that diverged goes on as if nothing had happened when its code is put back", async () => {
  const store = memoryStore();
  let name = "x";
  class Changing extends Workflow {
    readonly name = "changing";
    async forward(session: Session): Promise<Session> {
      const done = await session.do(name, () => 1, { repeat: "once" });
      return done.ask("go on?");
    }
  }
  const workflow = new Changing();
  const seen: unknown[] = [];
  for (const [index, now] of ["x", "other", "x"].entries()) {
    name = now;
    const rath = composeRath(
      { store, workflows: { workflow }, implicitForks: "allow" },
      { worker: `${machine()}:${1_998_000_000 + index}:t`, times: { parkGraceMs: 1, stillResumeMs: 100 } },
    );
    const settled = await (await rath.run(workflow, rath.session("s"), { key: "k" })).settle();
    seen.push([
      settled.status,
      settled.status === "waiting" && settled.diverged?.field,
      (await rath.pending()).map((pending) => pending.kind),
    ]);
  }
  expect(seen).toEqual([
    ["waiting", undefined, ["question"]],
    ["waiting", "name", ["question"]],
    ["waiting", undefined, ["question"]],
  ]);
});

test("a worker that has other code says so, and everybody sees why the run waits", async () => {
  const store = memoryStore();
  const changing = (name: string): Workflow =>
    new Flow(async (session) => {
      const asked = await (await session.do(name, () => 1, { repeat: "safe" })).ask("go on?");
      return asked.do("last", () => 2, { repeat: "safe" });
    }, "changing");
  const another = (name: string, index: number): Rath =>
    composeRath(
      { store: kept(store), workflows: { changing: changing(name) }, implicitForks: "allow" },
      { worker: `${machine()}:${1_998_100_000 + index}:t`, times: { parkGraceMs: 1, stillResumeMs: 100, lookMs: 20 } },
    );
  const first = another("x", 0);
  const run = await first.run("changing", first.session("s"));
  const settled = await run.settle();
  if (settled.status !== "waiting") throw new Error(settled.status);
  // Whoever started it would go on with it, too, with the code it knows.
  await first.close();

  const warned: string[] = [];
  const hear = ({ message }: Error): void => void warned.push(message);
  process.on("warning", hear);
  const stop = new AbortController();
  const worker = another("other", 1);
  const work = worker.work({ signal: stop.signal });
  await worker.decide(settled.pending[0]?.id as string, { answer: "yes", by: "human:ada" });
  const other = another("x", 2);
  const seen = await until("the divergence", async () => {
    const now = await (await other.attach(run.id)).settle();
    return now.status === "waiting" && now.diverged !== undefined ? now : undefined;
  });
  expect(seen.diverged).toMatchObject({ field: "name", at: { kind: "do.called" } });
  expect(seen.diverged?.text).toMatch(/^at step 4 \(do\.called\) its code asks for another "name"/);
  expect(await outcomeOf({ rath: other, runtime: runtimeOf(seen.session) }, await rowNamed(runtimeOf(seen.session), run.id))).toMatchObject(
    {
      ...{ status: "waiting", pending: [] },
      diverged: { step: 4, kind: "do.called", field: "name" },
    },
  );
  await until("the warning", () => warned.some((text) => text.startsWith(`Run ${run.id} diverged at step 4`)) || undefined);
  stop.abort();
  await work;
  process.off("warning", hear);

  // With the code it began with it goes on by itself.
  expect((await (await other.resume(run.id)).result()).output).toBe(2);
});
