import { createRequire } from "node:module";
import { join } from "node:path";
import { Agent, openrath, scripted } from "openrath";
import { mcp } from "openrath/mcp";

// Elsewhere: { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"]
// }, or { url, headers }.
const server = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/dist/index.js");
const file = join(process.cwd(), "notes.jsonl");
await using notes = await mcp(
  { command: process.execPath, args: [server], env: { MEMORY_FILE_PATH: file } },
  { repeat: ({ name }) => (name.startsWith("read_") ? "safe" : undefined), callTimeout: "20s" },
);
console.log(notes.tools.filter(({ repeat }) => repeat === "safe").map(({ name }) => name));
// → [ 'read_graph' ]

const entities = [{ name: "Ada", entityType: "person", observations: ["likes looms"] }];
const model = scripted(
  { calls: [{ tool: "create_entities", input: { entities } }] },
  { calls: [{ tool: "delete_entities", input: { entityNames: ["Ada"] } }] },
  "Noted.",
);
const keeper = new Agent({ name: "keeper", model, tools: [...notes.tools] });
await using rath = openrath({ store: "memory", policy: { deny: ["delete_*"] } });
const session = await keeper.forward(rath.session("Remember that Ada likes looms."));
for (const { tool, outcome } of session.calls) console.log(tool, outcome.type);
// → create_entities ok
// → delete_entities denied
