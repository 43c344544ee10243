import { openrath, scripted, type Session } from "openrath";
import { Triage } from "./guide-triage.ts";

/** One session, recorded. Where a key is set, the real model answers; here a script stands in for it. */
export async function record(): Promise<Session> {
  const reply = scripted({ calls: [{ tool: "order_status", input: { order: 42 } }] }, "Order 42 is lost. We send it again.");
  await using live = openrath({ models: process.env["OPENAI_API_KEY"] ? {} : { "openai/*": reply } });
  const run = await live.run(new Triage(), live.session("Where is my order 42?"));
  return await run.result(); // without this await, live is closed before there is a result
}
