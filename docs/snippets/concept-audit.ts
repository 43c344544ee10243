import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, diff, openrath, scripted, verify, why } from "openrath";
import { blame, graph } from "openrath/audit";
import { editFile } from "openrath/tools";

const repo = await mkdtemp(join(tmpdir(), "openrath-"));
await writeFile(join(repo, "price.js"), "export const vat = 0.19;\nexport const net = 100;\n");

const change = { calls: [{ tool: "edit_file", input: { path: "price.js", find: "0.19", replace: "0.21" } }] };
const coder = new Agent({ name: "coder", model: scripted(change, "VAT is 21 % now."), tools: [editFile] });

await using rath = openrath({ store: "memory" });
const start = rath.session("Raise VAT to 21 %.").to("memory", { workspace: repo });
const session = await coder.forward(start);

// #region why
for (const { relation, event } of (await why(session, "price.js:1")).hops) console.log(relation, event.kind);
// → wrote tool.returned
const lines = await blame(session, "price.js");
console.log(lines.map(({ line, event }) => `${line}: ${event.kind} by ${event.by}`));
// #endregion why

// #region diff
const { files, messages, models } = await diff(start, session);
console.log(files);
console.log(messages, models);
// #endregion diff

// #region verify
const { ok, problems, events, unsigned } = await verify(session);
console.log(ok, problems.length, events, unsigned);
// #endregion verify
console.log((await graph(session)).toMermaid());
