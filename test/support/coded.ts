/** A session worth asking about: an agent wrote files, two branches went their own ways, one was rejected, and a check passed. */
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Session } from "../../src/session/session.ts";
import { tool } from "../../src/tool/tool.ts";
import { Flow } from "./flow.ts";

/** What models and strangers may write. */
export const hostile = '</script><script>alert(1)</script>"\u202e\u001b[31m\u0000\ud800 \n--> %% `x` &amp;';

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: async ({ path, text }, { sandbox }) => {
    await sandbox.write(path, text);
    return "written";
  },
});

export function coder(name = "coder"): Agent {
  const writes = (text: string, path: string) => ({ calls: [{ tool: "put", input: { path, text } }] });
  return new Agent({
    name,
    model: scripted(writes("one\n", "src/a.ts"), writes("one\ntwo\n", "src/a.ts"), writes("<b>hi</b>\n", "page.html"), "Done."),
    tools: [put],
  });
}

/** The workflow that makes it. */
export function coding(): Flow {
  return new Flow(async (session) => {
    const coded = await coder().forward(session);
    const lost = await coded.fork("lost").do("try", () => 1);
    lost.reject(hostile);
    const kept = await coded.fork("kept").do("try", () => 2);
    return kept.check("tests", () => ({ passed: true, score: 0.5, reason: "all green" }));
  }, "coding");
}

export async function coded(rath: Rath): Promise<Session> {
  const asked = rath.session("Count", { title: `Counting ${"x".repeat(20)}`, tags: ["demo"], principal: "ada" });
  const run = await rath.run("coding", asked.to("memory"));
  return run.result();
}
