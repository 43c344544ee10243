/** What the processes of the memory kill test do: recall, summarise, remember on branches, inside a tool and at once, and recall again. */
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, type Session, scripted, Workflow } from "../../src/index.ts";

const long = "A word or two about what was learnt. ".repeat(40);

/** Every fourth one is rejected by itself in the end. */
export function isRejected(n: number): boolean {
  return n % 4 === 3;
}

/** How many keys all runs write at once. */
export const sharedKeys = 2;

export class Learner extends Workflow {
  readonly name = "learner";
  readonly agent = new Agent({
    name: "student",
    model: scripted(
      (_, session) => ({
        text: long,
        calls: [{ tool: "remember", input: { key: `fact-${numberOf(session)}`, content: `fact of run ${numberOf(session)}` } }],
      }),
      { text: long },
    ),
    memory: { recall: "before", remember: "tool" },
    context: { summariseAt: 300, keep: 50, model: scripted("What was learnt, in short.") },
  });

  async forward(session: Session): Promise<Session> {
    const n = numberOf(session);
    const told = await session.recall("fact lesson shared", { limit: 3 });
    const once = await this.agent.forward(told);
    const asked = await this.agent.forward(once.say("Go on."));
    const [left, right] = (await Promise.all(
      ["left", "right"].map((side) => asked.fork(side).remember({ key: `lesson-${n}-${side}`, content: `lesson of run ${n}, ${side}` })),
    )) as [Session, Session];
    const merged = await left.merge(right);
    const read = await merged.recall("lesson", { limit: 3 });
    const shared = await read.remember({ key: `shared-${n % sharedKeys}`, content: `shared by run ${n}` });
    const held = await shared.remember({ key: `held-${n}`, content: `held by run ${n}`, publish: { check: "review" } });
    const nested = await held.do(
      "look into it",
      async ({ session: inner }) => (await inner.remember({ key: `inner-${n}`, content: `inner of run ${n}` })).memory.writes.length,
      { repeat: "nested" },
    );
    if (isRejected(n)) return nested.reject("nothing of this is right");
    const now = await nested.remember({ key: `now-${n}`, content: `now of run ${n}`, publish: "now" });
    const thought = await now.do("think", () => sleep(10), { repeat: "safe" });
    const last = await thought.remember({ key: `last-${n}`, content: `last of run ${n}` });
    return last.recall("shared fact", { limit: 3 });
  }
}

function numberOf(session: Session): number {
  return Number(/\d+/.exec(session.messages[0]?.text ?? "")?.[0]);
}
