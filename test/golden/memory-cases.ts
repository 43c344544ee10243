/** Programs that remember, recall and forget: staged, published, merged, with vectors, and what a model was given to read. */
import { z } from "zod";
import { Agent, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { hashEmbedder } from "../../src/testing/testing.ts";
import type { Case } from "./cases.ts";

const page = tool({
  name: "page",
  description: "Gets a page.",
  input: z.object({}),
  repeat: "safe",
  run: () => "Deploy on Fridays.",
});

class Learn extends Workflow {
  asker = new Agent({
    name: "asker",
    model: scripted(
      { calls: [{ tool: "recall", input: { query: "deploy" } }] },
      { calls: [{ tool: "page", input: {} }] },
      { calls: [{ tool: "remember", input: { key: "deploy-day", content: "Friday" } }] },
      "Noted.",
    ),
    tools: [page],
    memory: { recall: "tool", remember: "tool" },
  });
  reader = new Agent({ name: "reader", model: scripted("On Friday."), memory: { tokens: 200 } });
  async forward(session: Session): Promise<Session> {
    const asked = await this.asker.forward(session);
    const written = await asked.remember({ key: "note", content: { day: "Friday", why: ["habit"] }, expires: "30d" });
    const held = await written.remember({ key: "held", content: "later", publish: { check: "reviewed" } });
    const gone = await held.forget("note", "it is no secret");
    return this.reader.forward(gone.say("On which day do we deploy?"));
  }
}

const remembered: Case = {
  /** A memory of its own for each recording. */
  get options() {
    const clock = () => Date.parse("2026-01-01T00:00:00.000Z");
    return {
      memory: volatileMemory({ embedder: hashEmbedder(8), clock }),
      policy: { memory: { recall: ({ key }: { readonly key: string }) => key !== "hidden" } },
    };
  },
  record: async (rath) => {
    const seed = await rath.session("Remember this.").remember({ key: "style", content: "Deploy with care.", publish: "now" });
    await rath.memory.publish(await seed.remember({ key: "hidden", content: "deploy secret" }));
    const done = await new Learn().forward(rath.session("Learn when to deploy."));
    const ours = await done.fork("ours").remember({ key: "owner", content: "Ada", scope: "user" });
    const theirs = await done.fork("theirs").remember({ key: "owner", content: "Bob", scope: "user" });
    const merged = await ours.merge(theirs, { conflicts: "theirs" });
    const missing = await merged.recall("nothing of the kind").catch(() => merged);
    return missing.at(done.step).fork("past").recall({ key: "style" });
  },
};

export const memoryCases = { remembered };
