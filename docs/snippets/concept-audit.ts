import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, diff, openrath, scripted, verify, why } from "openrath";
import { blame } from "openrath/audit";
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
// → called model.returned
// → decided model.called
// → was-in-context message.added
console.log((await blame(session, "price.js")).map(({ line, event }) => `${line} ${event.kind} by ${event.by}`));
// → [ '1 tool.returned by coder', '2 placement.changed by user' ]
// #endregion why

// #region diff
const { files, messages } = await diff(start, session);
console.log(files.map(({ path, lines }) => `${path} +${lines?.added} -${lines?.removed}`)); // → [ 'price.js +1 -1' ]
console.log(messages.map(({ b }) => b?.text)); // → [ 'VAT is 21 % now.' ]
// #endregion diff

// #region verify
const { ok, problems, events } = await verify(session);
console.log(ok, problems.length, events); // → true 0 17
// #endregion verify
