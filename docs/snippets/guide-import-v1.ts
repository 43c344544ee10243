import { writeFile } from "node:fs/promises";
import { Agent, openrath, scripted, verify } from "openrath";

// A session file as OpenRath 1 wrote it: a header, one line for each piece, a
// trailer.
const lines = [
  { type: "header", schema_version: 1, id: "5d1c", created_at: "2025-06-01T10:00:00+00:00", lineage_kind: "leaf_user" },
  { type: "chunk", index: 0, kind: "system", payload: { content: "You are brief." } },
  { type: "chunk", index: 1, kind: "user", payload: { content: "Name a river." } },
  { type: "chunk", index: 2, kind: "assistant", payload: { content: "The Douro." } },
  { type: "trailer", final_chunk_count: 3, cumulative_usage: { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 } },
];
await writeFile("5d1c.jsonl", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

await using rath = openrath({ store: "memory" });
const old = await rath.import("5d1c.jsonl");
console.log(old.lineage.kind, old.messages.length, old.usage.input);
// → import 3 12

const brief = new Agent({
  name: "brief",
  model: scripted("The Tagus."),
  instructions: "You are brief.",
});
const longer = await brief.forward(old.say("Another one."));
console.log(longer.text, longer.messages.length); // → The Tagus. 5
console.log((await verify(longer)).problems.length, "problems"); // → 0 problems
