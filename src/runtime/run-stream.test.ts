import { expect, test } from "vitest";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import { tool } from "../tool/tool.ts";

const search = tool({
  name: "search",
  description: "Searches.",
  input: { type: "object", properties: {} },
  repeat: "safe",
  run: () => "found",
});

test("the stream of a run gives every text once, between the events it belongs to", async () => {
  await using rath = openrath({ store: "memory" });
  const agent = new Agent({
    name: "agent",
    model: scripted({ text: "I look it up.", calls: [{ tool: "search", input: {} }] }, "It is found."),
    tools: [search],
  });
  const run = await rath.run(agent, rath.session("Find it"));
  const heard: string[] = [];
  for await (const part of run.stream()) {
    if (part.type === "text-delta") heard.push(part.text);
    else if (part.type === "tool-start") heard.push("[tool]");
    else if (part.type === "event" && part.event.kind.startsWith("model.")) heard.push(`[${part.event.kind}]`);
  }
  expect(heard.join("")).toBe("[model.called]I look it up.[model.returned][tool][model.called]It is found.[model.returned]");
});

test("a stream that is read after the end gives the same", async () => {
  await using rath = openrath({ store: "memory" });
  const run = await rath.run(new Agent({ name: "agent", model: scripted("Done.") }), rath.session("Do it"));
  await run.result();
  const heard: string[] = [];
  for await (const part of run.stream()) if (part.type === "text-delta") heard.push(part.text);
  expect(heard.join("")).toBe("Done.");
});
