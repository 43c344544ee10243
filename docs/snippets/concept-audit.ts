import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Agent,
  diff,
  openrath,
  scripted,
  verify,
  why,
} from "openrath";
import { blame } from "openrath/audit";
import { editFile } from "openrath/tools";

// #region work
const repo = await mkdtemp(join(tmpdir(), "openrath-"));
const text = "export const vat = 0.19;\nexport const net = 100;\n";
await writeFile(join(repo, "price.js"), text);

const input = { path: "price.js", find: "0.19", replace: "0.21" };
const model = scripted(
  { calls: [{ tool: "edit_file", input }] },
  "VAT is 21 % now.",
);
const coder = new Agent({ name: "coder", model, tools: [editFile] });

await using rath = openrath({ store: "memory" });
const asked = rath.session("Raise VAT to 21 %.");
const start = asked.to("memory", { workspace: repo });
const session = await coder.forward(start);
// #endregion work

// #region why
const { hops } = await why(session, "price.js:1");
for (const { relation, event } of hops)
  console.log(relation, event.kind);
// → wrote tool.returned
// → called model.returned
// → decided model.called
// → was-in-context message.added
for (const { line, event } of await blame(session, "price.js"))
  console.log(line, event.kind, event.by);
// → 1 tool.returned coder
// → 2 placement.changed user
// #endregion why

// #region diff
const { files, messages } = await diff(start, session);
for (const { path, lines } of files) console.log(path, lines);
// → price.js { added: 1, removed: 1 }
for (const { b } of messages) console.log(b?.text);
// → VAT is 21 % now.
// #endregion diff

// #region verify
const { ok, problems, events } = await verify(session);
console.log(ok, problems.length, events); // → true 0 17
// #endregion verify
