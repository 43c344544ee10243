import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openrath } from "openrath";
import { shell } from "openrath/tools";

// #region place
const repo = await mkdtemp(join(tmpdir(), "openrath-"));
await writeFile(join(repo, "list.txt"), "pears\napples\n");

await using rath = openrath({ store: "memory" });

// With "local" in place of "memory": real programs, isolated, on Linux.
const asked = rath.session("Sort the list.");
const placed = asked.to("memory", { workspace: repo });
const sorted = await placed.call(shell, {
  command: "sort list.txt > sorted.txt && rm list.txt",
});
const call = sorted.calls.at(-1);
console.log(call?.changes.map(({ kind, path }) => `${kind} ${path}`));
// → [ 'removed list.txt', 'added sorted.txt' ]
console.log(
  call?.acted?.isolation,
  call?.acted?.commands?.[0]?.exitCode,
);
// → process 0
console.log(JSON.stringify(await sorted.files.text("sorted.txt")));
// → "apples\npears\n"
const mine = await readFile(join(repo, "list.txt"), "utf8");
console.log(JSON.stringify(mine));
// → "pears\napples\n"
// #endregion place

// #region check
const checked = await sorted.check("sorted", async ({ sandbox }) => {
  const { exitCode } = await sandbox.exec(
    "sort -c sorted.txt && rm *.txt",
  );
  return exitCode === 0;
});
console.log(checked.checks.at(-1)?.passed); // → true
console.log(checked.files.hash === sorted.files.hash); // → true
// #endregion check

// #region apply
await writeFile(
  join(repo, "list.txt"),
  "somebody edits it meanwhile\n",
);
await checked.apply(repo).catch(({ code }) => console.log(code));
// → workspace.changed
await checked.apply(repo, { paths: ["sorted.txt"] });
const written = await readFile(join(repo, "sorted.txt"), "utf8");
console.log(JSON.stringify(written)); // → "apples\npears\n"
// #endregion apply
