import { mkdir, readFile, writeFile } from "node:fs/promises";
import { openrath } from "openrath";
import { shell } from "openrath/tools";
import { unshareSandbox } from "./guide-unshare-sandbox.ts";

await mkdir("repo", { recursive: true });
await writeFile("repo/notes.txt", "one\n");

await using rath = openrath({
  store: "memory",
  sandboxes: { quiet: unshareSandbox() },
});
const placed = rath.session("Add a line.").to("quiet", { workspace: "./repo" });
const done = await placed.call(shell, { command: "echo two >> notes.txt; grep -c : /proc/net/dev" });
console.log(done.output.stdout.trim(), "network interface");
// → 1 network interface
console.log(done.calls[0]?.changes.map(({ kind, path }) => `${kind} ${path}`));
// → [ 'changed notes.txt' ]
console.log(JSON.stringify(await readFile("repo/notes.txt", "utf8"))); // → "one\n"
await done.apply("./repo");
console.log(JSON.stringify(await readFile("repo/notes.txt", "utf8")));
// → "one\ntwo\n"
