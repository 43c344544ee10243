import { openrath, type Session, scripted } from "openrath";
import { Triage } from "./guide-triage.ts";

/** One session. Where a key is set the real model answers, else a script. */
export async function record(): Promise<Session> {
  const call = { calls: [{ tool: "order_status", input: { order: 42 } }] };
  const reply = scripted(call, "Order 42 is lost. We send it again.");
  const models = process.env["OPENAI_API_KEY"] ? {} : { "openai/*": reply };
  await using live = openrath({ workflows: { triage: new Triage() }, models });
  const run = await live.run("triage", live.session("Where is my order 42?"));
  // Without this await, live is closed before there is a result
  return await run.result();
}
