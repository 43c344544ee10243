import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openrath } from "openrath";
import { editFile } from "openrath/tools";

// #region merge
const workspace = await mkdtemp(join(tmpdir(), "openrath-"));
await writeFile(join(workspace, "greet.txt"), "Hello\n\nbye\n");
const edit = (find: string, replace: string) => ({
  path: "greet.txt",
  find,
  replace,
});

await using rath = openrath({ store: "memory" });
const asked = rath.session("Make it friendlier.");
const start = asked.to("memory", { workspace });
const [a, b] = [start.fork("warm"), start.fork("polite")];
const warm = await a.call(editFile, edit("Hello", "Hello, you"));
const polite = await b.call(editFile, edit("bye", "good-bye"));
const noted = await polite.remember({
  key: "tone",
  content: "polite",
});

const merged = await warm.merge(noted);
console.log(JSON.stringify(await merged.files.text("greet.txt")));
// → "Hello, you\n\ngood-bye\n"
console.log(
  merged.memory.writes.map(({ key, state }) => `${key}: ${state}`),
);
// → [ 'tone: staged' ]
console.log(JSON.stringify(await warm.files.text("greet.txt")));
// → "Hello, you\n\nbye\n"
// #endregion merge

// #region conflict
const c = start.fork("loud");
const loud = await c.call(editFile, edit("Hello", "HELLO"));
for (const conflict of await merged.conflicts(loud))
  if (conflict.kind === "file")
    console.log(conflict.path, conflict.problem);
// → greet.txt content
await merged.merge(loud).catch(({ code }) => console.log(code));
// → merge.conflict

const content = "HELLO, you\n\ngood-bye\n";
const settled = await merged.merge(loud, {
  conflicts: () => ({ content }),
  reason: "both were right",
});
console.log(JSON.stringify(await settled.files.text("greet.txt")));
// → "HELLO, you\n\ngood-bye\n"

const again = merged.fork("again"); // "theirs" takes the whole file
const theirs = await again.merge(loud, { conflicts: "theirs" });
console.log(JSON.stringify(await theirs.files.text("greet.txt")));
// → "HELLO\n\nbye\n"
// #endregion conflict

// #region many
const trees = new Set<string>();
for (let n = 0; n < 1000; n++)
  trees.add(merged.fork(`try ${n}`).files.hash);
console.log(trees.size); // → 1
const past = merged.at(2).fork("past"); // before anything was placed
console.log(past.messages.length, past.placement); // → 1 undefined
const rude = await rath.save(
  loud.reject("nobody wants to be shouted at"),
);
console.log(rude.status, loud.status); // → rejected idle
// #endregion many
