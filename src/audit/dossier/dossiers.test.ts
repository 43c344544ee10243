/** The dossiers of many sessions: one page over all of them, and what it says is so. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../../test/support/flow.ts";
import { readMarkup } from "../../../test/support/markup.ts";
import { Agent, openrath, type Rath, RathError, type Session, scripted, tool } from "../../index.ts";
import { memoryStore } from "../../store/memory.ts";
import { dossier } from "./dossier.ts";
import { type DossiersReport, dossiers } from "./dossiers.ts";

let folder = "";
let rath: Rath;
const sessions: Session[] = [];
let report: DossiersReport;
const hostile = `<img src=x onerror=alert(1)> & "quoted" ${"sk-secret-of-the-test"}`;

const pay = tool({
  name: "pay",
  description: "Pays.",
  input: z.object({ amount: z.number() }),
  repeat: "once",
  needsApproval: ({ amount }) => amount > 10,
  run: ({ amount }) => ({ paid: amount }),
});

/** An agent that pays, remembers and is judged by what was said. */
class Clerk extends Flow {
  constructor(amount: number) {
    const agent = new Agent({
      name: "clerk",
      model: scripted({ calls: [{ tool: "pay", input: { amount } }] }, hostile),
      tools: [pay],
    });
    super(async (session) => {
      const learned = await (await session.recall("amounts")).remember({ key: "amount", content: String(amount) });
      const worked = await agent.forward(learned);
      const judged = await worked.check("small", () => ({ passed: amount < 100, reason: `${amount} of 100` }));
      return amount < 100 ? judged : judged.reject("too much");
    }, "clerk");
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-dossiers-"));
  const clerks = [5, 50, 500].map((amount) => new Clerk(amount));
  rath = openrath({ store: memoryStore(), secrets: ["sk-secret-of-the-test"] });
  for (const [index, clerk] of clerks.entries()) {
    const run = await rath.run(clerk, rath.session(hostile, { title: index === 0 ? "../a b" : hostile }));
    for (const { id, kind } of (await run.settle()).session.pending)
      if (kind === "approval") await rath.decide(id, { by: "human:ada", approve: index === 1, reason: hostile });
    sessions.push(await run.result());
  }
  const workflow = (session: Session) => clerks[sessions.findIndex(({ id }) => id === session.id)];
  report = await dossiers(sessions, join(folder, "out"), { title: hostile, workflow, claims: [{ claim: hostile, holds: false }] });
}, 30_000);
afterAll(async () => {
  await rath.close();
  await rm(folder, { recursive: true, force: true });
});

// Mutant: report.md takes the state from the write itself, which was staged.
test("page and report agree about what became of a memory: published, or staged where the run was rejected", async () => {
  const said = async (name: string, file: string): Promise<string> => readFile(join(folder, "out", name, file), "utf8");
  const [published, , rejected] = report.sessions.map((entry) => entry.folder);
  expect(await said(published ?? "", "index.html")).toMatch(/>published<\/span> <span class="quiet">revision \d/);
  expect(await said(published ?? "", "report.md")).toMatch(/learned `memory:\/\/project\/amount@1 \(published, /);
  expect(await said(rejected ?? "", "index.html")).not.toContain(">published<");
  expect(await said(rejected ?? "", "report.md")).toMatch(/learned `memory:\/\/project\/amount@\d \(staged, /);
});

test("each session has an entry with what became of it, and a dossier under a name of its own", async () => {
  expect(report).toMatchObject({ directory: join(folder, "out"), verified: true, replayed: true });
  expect(report.sessions).toMatchObject([
    { folder: "a-b", status: "idle", calls: [{ tool: "pay", outcome: "ok" }], decisions: [], takenOver: 0 },
    {
      status: "idle",
      checks: [{ name: "small", passed: true, reason: "50 of 100" }],
      calls: [{ tool: "pay", outcome: "ok" }],
      memory: { written: ["amount"] },
      decisions: [{ about: "approval", by: "human:ada", approve: true }],
      spent: { models: 2, usd: 0 },
    },
    { folder: sessions[2]?.id, status: "rejected", calls: [{ outcome: "denied" }], decisions: [{ approve: false }] },
  ]);
  for (const { folder: name, session } of report.sessions) {
    const manifest = JSON.parse(await readFile(join(folder, "out", name, "manifest.json"), "utf8"));
    expect(manifest.session.id).toBe(session);
  }
  const { sessions: listed } = JSON.parse(await readFile(join(folder, "out", "manifest.json"), "utf8"));
  expect(listed).toEqual(report.sessions);
  expect((await readdir(folder)).filter((name) => /partial|old/.test(name))).toEqual([]);
});

test("the page links every dossier, says what does not hold, and nothing in it acts or tells a secret", async () => {
  const page = await readFile(report.page, "utf8");
  for (const { folder: name } of report.sessions) expect(page).toContain(`href="${name}/index.html"`);
  expect(page).toContain("does not hold");
  expect(page).toMatch(/approval granted by human:ada/);
  expect(page).toMatch(/approval refused by human:ada/);
  expect(readMarkup(page).elements.map(({ name }) => name)).not.toContain("img");
  for (const file of ["index.html", "manifest.json"])
    expect(await readFile(join(folder, "out", file), "utf8"), file).not.toContain("sk-secret-of-the-test");
});

test("a record that was not replayed is not called identical, and one that differs is shown", async () => {
  const unknown = await dossiers(sessions.slice(0, 1), join(folder, "unknown"));
  expect(unknown.replayed).toBeUndefined();
  expect(await readFile(unknown.page, "utf8")).toContain("not replayed");
  const other = await dossiers(sessions.slice(0, 1), join(folder, "other"), { workflow: () => new Clerk(6) });
  expect(other.replayed).toBe(false);
  expect(await readFile(other.page, "utf8")).toContain("differs");
});

test("dossiers are replaced by dossiers; a single one, and anything else, is left alone", async () => {
  const again = await dossiers(sessions.slice(0, 1), join(folder, "out"));
  expect((await readdir(again.directory)).sort()).toEqual(["a-b", "index.html", "manifest.json"]);
  await dossier(sessions[0]!, join(folder, "single"));
  await writeFile(join(folder, "note.txt"), "mine");
  for (const taken of ["single", "note.txt"]) {
    const refused = await dossiers(sessions, join(folder, taken)).catch((error: unknown) => error);
    expect(RathError.is(refused, "value.unsupported"), taken).toBe(true);
  }
  expect(await readFile(join(folder, "note.txt"), "utf8")).toBe("mine");
  const half = await dossiers([sessions[0]!, undefined as unknown as Session], join(folder, "half")).catch((error: unknown) => error);
  expect(half).toBeInstanceOf(Error);
  expect((await readdir(folder)).filter((name) => name.startsWith("half"))).toEqual([]);
});
