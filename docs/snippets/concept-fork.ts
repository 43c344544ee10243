import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openrath, RathError } from "openrath";
import { editFile, writeFile as write } from "openrath/tools";

const workspace = await mkdtemp(join(tmpdir(), "openrath-"));
await writeFile(join(workspace, "greet.txt"), "Hello\n\nbye\n");
await using rath = openrath({ store: "memory" });

// #region merge
const start = rath.session("Make it friendlier.").to("memory", { workspace });
const warm = await start.fork("warm").call(editFile, { path: "greet.txt", find: "Hello", replace: "Hello, friend" });
const polite = await start.fork("polite").call(editFile, { path: "greet.txt", find: "bye", replace: "good-bye" });
const noted = await polite.remember({ key: "tone", content: "polite" });

const merged = await warm.merge(noted);
console.log(JSON.stringify(await merged.files.text("greet.txt"))); // → "Hello, friend\n\ngood-bye\n"
console.log(merged.memory.writes.map(({ key, state }) => `${key}: ${state}`)); // → [ 'tone: staged' ]
// #endregion merge

// #region conflict
const loud = await start.fork("loud").call(editFile, { path: "greet.txt", find: "Hello", replace: "HELLO" });
console.log(await merged.conflicts(loud).then((all) => all.map((c) => c.kind === "file" && `${c.path}: ${c.problem}`)));
try {
  await merged.merge(loud);
} catch (error) {
  if (RathError.is(error)) console.log(error.code, error.message);
}
const decided = await merged.merge(loud, { conflicts: "theirs", reason: "marketing wants it loud" });
console.log(JSON.stringify(await decided.files.text("greet.txt")));
// #endregion conflict

// #region reject
const rejected = await rath.save(polite.fork("rude").reject("nobody wants this"));
console.log(rejected.status, polite.status); // → rejected idle
// #endregion reject
void write;
