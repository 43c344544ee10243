/** `grep -l` names sessions, all that have it, and nothing that `show` cannot open. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readFile } from "../../src/tool/builtin/tools.ts";
import { Flow } from "../support/flow.ts";
import { call, lastingStore, rathOn } from "./world.ts";

// Mutant: every log that is no run's is taken for a session.
test("what only an answer says is in no session that can be shown", async () => {
  const store = lastingStore();
  const rath = rathOn(store);
  const asks = new Flow((session) => session.ask("May I?"), "asking");
  const run = await rath.run(asks, rath.session("go"));
  await run.settle();
  const [asked] = await rath.pending();
  await rath.decide(asked?.id as string, { answer: "yes", by: "human:ada", reason: "since the tide is out" });
  await run.result();
  await rath.close();
  const { out } = await call(store, ["grep", "since the tide", "-l"], { terminal: false });
  for (const id of out.trim().split("\n").filter(Boolean)) expect((await call(store, ["show", id], { terminal: false })).exit).toBe(0);
});

// Mutants: the id of the log is printed; only the first log that names a file counts.
test("a file that two sessions have is listed with both, whose runs name it first", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "openrath-list-"));
  try {
    await writeFile(join(workspace, "tides.md"), "High water is at noon.\n");
    const store = lastingStore();
    const rath = rathOn(store);
    const reads = new Flow((session) => session.call(readFile, { path: "tides.md" }), "reads");
    const sessions: string[] = [];
    for (const name of ["one", "two"])
      sessions.push((await (await rath.run(reads, rath.session(name).to("memory", { workspace }))).result()).id);
    const outside = await rath.session("three").to("memory", { workspace }).call(readFile, { path: "tides.md" });
    await rath.close();
    const { out } = await call(store, ["grep", "High water", "-l"], { terminal: false });
    const listed = out.trimEnd().split("\n");
    expect(listed.sort()).toEqual([...sessions, outside.id].sort());
    for (const id of listed) expect((await call(store, ["show", id], { terminal: false })).exit).toBe(0);
    const { out: first } = await call(store, ["grep", "High water", "-l", "-n", "2", "--json"], { terminal: false });
    expect(JSON.parse(first)).toHaveLength(2);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
});
