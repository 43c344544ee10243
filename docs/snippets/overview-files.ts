import { mkdir, readFile, writeFile } from "node:fs/promises";
import { Agent, openrath, scripted } from "openrath";
import { coding } from "openrath/tools";

await mkdir("repo", { recursive: true });
await writeFile("repo/sum.js", "export const sum = (a, b) => a - b;\n");
const edit = { tool: "edit_file", input: { path: "sum.js", find: "a - b", replace: "a + b" } };
const models = { "anthropic/*": scripted({ calls: [edit] }, "Repaired.") }; // take it out and set ANTHROPIC_API_KEY to ask the real one
// #region coder
await using rath = openrath({ models });
const coder = new Agent({ model: "anthropic/claude-sonnet-5", instructions: "Fix the failing test.", tools: coding });
const fixed = await coder.forward(rath.session("npm test fails").to("local", { workspace: "./repo" }));
for (const { tool, changes } of fixed.calls) console.log(tool, changes.map(({ kind, path }) => `${kind} ${path}`).join()); // → edit_file changed sum.js
await fixed.apply("./repo"); // the first write to the directory; `dryRun` shows it, `paths` chooses
// #endregion coder
console.log((await readFile("repo/sum.js", "utf8")).trim()); // → export const sum = (a, b) => a + b;
