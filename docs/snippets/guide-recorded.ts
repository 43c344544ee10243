import { openrath, type Session, scripted } from "openrath";
import { Triage } from "./guide-triage.ts";

/** One session, recorded. Where a key is set, the real model answers; here a script stands in for it. */
export async function record(): Promise<Session> {
  const reply = scripted({ calls: [{ tool: "order_status", input: { order: 42 } }] }, "Order 42 is lost. We send it again.");
  const models = process.env["OPENAI_API_KEY"] ? {} : { "openai/*": reply };
  await using live = openrath({ workflows: { triage: new Triage() }, models });
  const run = await live.run("triage", live.session("Where is my order 42?"));
  return await run.result(); // without this await, live is closed before there is a result
}
