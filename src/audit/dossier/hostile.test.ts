/** What models, tools and strangers wrote stays text in a dossier, however it is written and however much it is. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Flow } from "../../../test/support/flow.ts";
import { readMarkup } from "../../../test/support/markup.ts";
import { Agent, openrath, type Session, scripted, tool } from "../../index.ts";
import { memoryStore } from "../../store/memory.ts";
import { testRath } from "../../testing/test-rath.ts";
import { writeFile } from "../../tool/builtin/tools.ts";
import { dossier } from "./dossier.ts";

const bad =
  "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&amp;<!--]]>\u001b[2J\u001b]0;x\u0007\u202egnp\u2066\u0000\ud800|\udfff日本 😀 https://evil.example/x.png javascript:alert(3)";
/** Names are refused when they are not well formed. */
const name = bad.replace("\u0000\ud800|\udfff", "");
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-hostile-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const strange = tool({
  name: "strange",
  description: "Says strange things.",
  input: { type: "object", properties: { say: { type: "string" } } },
  repeat: "safe",
  retry: { attempts: 2 },
  needsApproval: true,
  run: () => {
    throw new Error(bad);
  },
});

/** Hostile text wherever somebody outside can put one. */
class Hostile extends Flow {
  constructor() {
    const agent = new Agent({
      name: "agent",
      model: scripted({ text: bad, reasoning: bad, calls: [{ tool: "strange", input: { say: bad } }] }, { text: bad }),
      tools: [strange],
    });
    super(async (session) => {
      let at: Session = await session
        .say(bad)
        .note(bad)
        .link({ system: bad, id: bad, uri: "javascript:alert(4)", digest: bad })
        .do(name, () => ({ [bad.slice(0, 40)]: bad }), { repeat: "safe", input: bad });
      const lost = await at.fork(name).check(name, () => ({ passed: false, reason: bad }));
      lost.reject(bad);
      at = await at.call(writeFile, { path: "a <b>&\u202e.txt", content: `${bad}\n${"x".repeat(1_000_000)}\n` });
      at = await at.remember({ key: "note", content: bad, publish: { check: name } });
      at = await at.recall(bad);
      return agent.forward(at);
    }, "hostile");
  }
}

test("nothing in any field becomes markup, and a line of a megabyte stays short", async () => {
  const workflow = new Hostile();
  await using rath = testRath({ implicitForks: "allow", workflows: { hostile: workflow } });
  const run = await rath.run(workflow, rath.session(bad, { title: name, tags: [name.slice(0, 30)], principal: "ada" }).to("memory"));
  await run.settle();
  const [pending] = await rath.pending();
  await rath.decide(pending?.id ?? "", { by: "grace", approve: true, reason: bad });
  const session = await run.result();
  const { page, verified, replayed } = await dossier(session, join(folder, "out"));
  expect({ verified, replayed }).toEqual({ verified: true, replayed: true });
  const html = await readFile(page, "utf8");
  for (const file of ["index.html", "graph.svg"]) {
    const text = await readFile(join(folder, "out", file), "utf8");
    const { elements, text: shown } = readMarkup(text);
    expect(elements.map((element) => element.name)).not.toContain("script");
    expect(elements.map((element) => element.name)).not.toContain("img");
    for (const { attributes } of elements) for (const attribute of attributes.keys()) expect(attribute).not.toMatch(/^on|^src/);
    expect(shown).toContain("<script>alert(1)</script>");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800\udfff](?![\udc00-\udfff])/u);
  }
  expect(html).not.toContain("x".repeat(50_000));
  expect((await stat(page)).size).toBeLessThan(1_000_000);
});

test("what is secret only now is replaced in everything that is written for people, and counted", async () => {
  const store = { ...memoryStore(), [Symbol.asyncDispose]: async () => {} };
  const first = openrath({ store, implicitForks: "allow" });
  let session: Session = await first
    .session("Use hunter2-hunter2 & <go>", { title: "Log in with hunter2-hunter2" })
    .do("log in", () => "hunter2-hunter2", { repeat: "safe", input: { password: "hunter2-hunter2" } });
  session = await session.to("memory").call(writeFile, { path: "notes.txt", content: "the key is hunter2-hunter2\n" });
  await first.close();
  await using rath = openrath({ store, secrets: ["hunter2-hunter2"] });
  const { directory, redacted } = await dossier(await rath.open(session.id), join(folder, "secret"));
  expect(redacted).toBeGreaterThan(3);
  for (const name of [
    "index.html",
    "calls.jsonl",
    "patch.diff",
    "report.md",
    "lineage.jsonl",
    "graph.svg",
    "manifest.json",
    "verification.json",
  ])
    expect(await readFile(join(directory, name), "utf8"), name).not.toContain("hunter2");
  expect(await readFile(join(directory, "index.html"), "utf8")).toContain("replaced when it was read again");
});

test("thousands of calls and branches give a page that opens: what is left out is counted", async () => {
  await using rath = openrath({ store: "memory", implicitForks: "allow" });
  const quick = tool({
    name: "quick",
    description: "Is quick.",
    input: { type: "object", properties: {} },
    repeat: "safe",
    writes: "nothing",
    run: () => "y".repeat(500),
  });
  let session: Session = rath.session("Many");
  for (let index = 0; index < 400; index++) session = await session.call(quick, {});
  for (let index = 0; index < 200; index++)
    await rath.save((await session.fork(`try ${index}`).check("fast", () => index === 7)).reject(`took ${index} s`));
  const started = Date.now();
  const { page } = await dossier(session, join(folder, "many"));
  const { text, elements } = readMarkup(await readFile(page, "utf8"));
  expect(Date.now() - started).toBeLessThan(20_000);
  expect(text.includes("280 more rows left out here; all of them are in calls.jsonl")).toBe(true);
  expect(/198 more like “try \d+”/.test(text)).toBe(true);
  expect(elements.length).toBeLessThan(30_000);
  expect((await readFile(join(folder, "many", "calls.jsonl"), "utf8")).trimEnd().split("\n")).toHaveLength(400);
});
