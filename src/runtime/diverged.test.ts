import { expect, test } from "vitest";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { Workflow } from "../workflow/workflow.ts";
import { machine } from "../workspace/machine.ts";

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
