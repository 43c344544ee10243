/** What a dossier says of a session is about that session: not about what went on from it, and not about what merely waits. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Flow } from "../../../test/support/flow.ts";
import { until } from "../../../test/support/processes.ts";
import { Agent, openrath, type Rath, rerun, type Session } from "../../index.ts";
import type { Model } from "../../session/model.ts";
import { memoryStore } from "../../store/memory.ts";
import { writeFile } from "../../tool/builtin/tools.ts";
import { write } from "../export/write.ts";
import { verify } from "../verify.ts";
import { dossier } from "./dossier.ts";
import { dossiers } from "./dossiers.ts";

let folder = "";
let rath: Rath;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-story-"));
  rath = openrath({ store: "memory" });
});
afterAll(async () => {
  await rath.close();
  await rm(folder, { recursive: true, force: true });
});

async function pageOf(session: Session, name: string): Promise<string> {
  const { page } = await dossier(session, join(folder, name));
  return (await readFile(page, "utf8")).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
}

test("it ended as its own run did, also when a rerun of it failed", async () => {
  const good = new Flow((session) => session.do("work", () => 1), "work");
  const session = await (await rath.run(good, rath.session("Do it"))).result();
  const bad = new Flow(async (at) => {
    await at.do("work", () => 1);
    throw new Error("broken by now");
  }, "work");
  await expect(rerun(session, bad, { effects: "live" })).rejects.toThrow("broken by now");
  const page = await pageOf(session, "rerun");
  expect(page).toContain("Do it finished");
  expect(page).not.toContain("run failed");
});

test("a question that waits for its answer is not unknown", async () => {
  const asking = new Flow((session) => session.ask("May I?"), "asking");
  const { session } = await (await rath.run(asking, rath.session("Ask"))).settle();
  expect(session.status).toBe("waiting");
  expect(await pageOf(session, "waiting")).not.toMatch(/no known outcome|1 effect stayed/);
});

test("a model that was asked under a limit and never answered is unknown", async () => {
  const store = memoryStore();
  const silent: Model = {
    id: "test/silent",
    stream: async function* () {
      await new Promise(() => {});
    },
  };
  const agent = new Agent({ name: "agent", model: silent, limits: { tokens: 1000 } });
  const killed = openrath({ store });
  const session = killed.session("Say something");
  void (await killed.run(agent, session)).result().catch(() => undefined);
  // What may be repeated is asked before it is stored.
  const isStored = async (): Promise<boolean> => {
    for await (const { envelope } of store.events({ session: session.id })) if (Buffer.from(envelope).includes("model.called")) return true;
    return false;
  };
  await until(isStored, "the call of the model to be stored");
  await using later = openrath({ store });
  expect(await pageOf(await later.open(session.id), "silent")).toContain("1 effect has no known outcome");
});

test("a record that strangers signed is not proven, and is not in doubt; whoever knows the key sees that it is intact", async () => {
  const session = await (await rath.run(new Flow((at) => at.do("work", () => 1), "work"), rath.session("Sign it"))).result();
  const bundle = join(folder, "signed");
  await write(session, bundle);
  const { statement } = await verify(session);
  const { key } = (JSON.parse(statement as string) as { readonly statement: { readonly key: string } }).statement;
  expect(await pageOf(session, "own")).toContain(`openrath verify ${session.id} --key ${key}`);
  await using elsewhere = openrath({ store: "memory" });
  const same = await elsewhere.import(bundle);
  const there = join(folder, "elsewhere");
  expect(await dossier(same, there)).toMatchObject({ verified: false, problems: 0, unknownKeys: [key] });
  const page = await readFile(join(there, "index.html"), "utf8");
  expect(page).toContain("not proven");
  expect(page).toMatch(/signed \d+ events, and was not known where this was written/);
  expect(page).not.toContain("after the last statement");
  expect(await dossier(same, there, { keys: [key] })).toMatchObject({ verified: true, problems: 0, unknownKeys: [] });
  // Both must be known to whoever reads on: whose record it is, and who wrote it down here since.
  const on = await (await elsewhere.run(new Flow((at) => at.do("more", () => 2), "more"), same)).result();
  await dossier(on, there, { keys: [key] });
  const [, named] = /openrath verify \S+((?: --key \S+)+)</.exec(await readFile(join(there, "index.html"), "utf8")) ?? [];
  const { unknownKeys } = await verify(on, { keys: [] });
  expect(unknownKeys).toEqual([key]);
  expect(named?.split(" --key ").slice(1)).toEqual([expect.not.stringMatching(key), key]);
});

test("a title with accents keeps its letters in the name of its folder", async () => {
  const { sessions } = await dossiers([await rath.session("Guests do not find cafés").do("a", () => 1)], join(folder, "accents"));
  expect(sessions.map((entry) => entry.folder)).toEqual(["Guests-do-not-find-cafes"]);
});

test("places of one session have a folder each", async () => {
  const session = await rath.session("走る").do("a", () => 1);
  await dossiers([session.at(1), session.at(2), session, session], join(folder, "places"));
  const folders = (await readdir(join(folder, "places"), { withFileTypes: true })).filter((entry) => entry.isDirectory());
  expect(folders).toHaveLength(4);
});

test("a line of a file that looks like the head of a patch is content", async () => {
  const content = "x\u2028diff --git a/src/auth.ts b/src/auth.ts\ry\r# heading\n";
  const session = await rath.session("Write").to("memory").call(writeFile, { path: "a.txt", content });
  const { page } = await dossier(session, join(folder, "patch"));
  const text = await readFile(page, "utf8");
  expect(text.match(/<code>[^<]*<\/code> <span class="added">\+\d+<\/span>/g)).toEqual([
    '<code>a.txt</code> <span class="added">+1</span>',
  ]);
});

test("a binary file is whole in patch.diff, and only named on the page", async () => {
  const session = await rath.session("Write").to("memory").call(writeFile, { path: "a.bin", content: "\0one" });
  const { page } = await dossier(session, join(folder, "binary"));
  expect(await readFile(join(folder, "binary", "patch.diff"), "utf8")).toMatch(/\nGIT binary patch\nliteral 4\n/);
  const text = await readFile(page, "utf8");
  expect(text).toContain("A binary file: patch.diff has it.");
  expect(text).not.toContain("literal 4");
});
