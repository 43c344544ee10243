/** The dossier of one rich session: what is in its folder, and that what it says is so. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readMarkup } from "../../../test/support/markup.ts";
import { repaired } from "../../../test/support/rounding.ts";
import { Agent, openrath, type Rath, RathError, type Session, scripted } from "../../index.ts";
import { count } from "../../wire/format.ts";
import { write } from "../export/write.ts";
import { type DossierReport, dossier } from "./dossier.ts";
import { failuresOf } from "./failures.ts";
import { sourceOf } from "./model-source.ts";
import { type Dossier, readDossier } from "./read.ts";
import { timelineOf } from "./timeline.ts";

let folder = "";
let rath: Rath;
let session: Session;
let report: DossierReport;
let read: Dossier;
const file = (name: string): Promise<string> => readFile(join(folder, "out", name), "utf8");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-dossier-"));
  const made = await repaired(() => openrath({ store: join(folder, "store.db"), implicitForks: "error" }), folder);
  ({ rath, session } = made);
  report = await dossier(session, join(folder, "out"), { workflow: made.workflow });
  read = await readDossier(session);
}, 60_000);
afterAll(async () => {
  await rath.close();
  await rm(folder, { recursive: true, force: true });
});

describe("the folder", () => {
  test("has what it names, with the hashes it names, and nothing is left beside it", async () => {
    expect(report).toMatchObject({ directory: join(folder, "out"), verified: true, replayed: true, redacted: 0 });
    const names = (await readdir(join(folder, "out"))).sort();
    expect(names).toEqual(
      [
        "SHA256SUMS",
        "calls.jsonl",
        "graph.svg",
        "index.html",
        "lineage.jsonl",
        "manifest.json",
        "patch.diff",
        "report.md",
        "session",
        "verification.json",
      ].sort(),
    );
    const sums = (await file("SHA256SUMS"))
      .trimEnd()
      .split("\n")
      .map((line) => line.split("  ") as [string, string]);
    expect(sums.map(([, path]) => path)).toEqual(
      expect.arrayContaining(names.filter((name) => name !== "SHA256SUMS" && name !== "session")),
    );
    for (const [sum, path] of sums)
      expect(
        createHash("sha256")
          .update(await readFile(join(folder, "out", path)))
          .digest("hex"),
        path,
      ).toBe(sum);
    expect((await readdir(folder)).filter((name) => /partial|old/.test(name))).toEqual([]);
  });

  test("holds the session: another store takes it in, with the same head", async () => {
    await using elsewhere = openrath({ store: "memory" });
    expect((await elsewhere.import(join(folder, "out", "session"))).head).toBe(session.head);
  });

  test("holds a patch that git applies to what the session began with", async () => {
    const copy = join(folder, "copy");
    await cp(join(folder, "totals"), copy, { recursive: true });
    execFileSync("git", ["apply", join(folder, "out", "patch.diff")], { cwd: copy });
    for (const path of ["src/totals.js", "CHANGELOG.md"])
      expect(await readFile(join(copy, path), "utf8")).toBe(await session.files.text(path));
  });

  test("lists every call of a tool and every effect with what it did, where, and who allowed it", async () => {
    const calls = (await file("calls.jsonl"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(calls.filter(({ tool }) => tool !== undefined)).toHaveLength(10);
    expect(calls.filter((call) => call.do !== undefined)).toHaveLength(2);
    expect(calls.find(({ tool, inResult }) => tool === "edit_file" && inResult)).toMatchObject({
      outcome: { type: "ok" },
      files: [{ path: "src/totals.js", kind: "changed" }],
      sandbox: { backend: "memory" },
      branch: "integer cents",
    });
    expect(calls.find(({ tool }) => tool === "publish_package")).toMatchObject({
      approval: { by: "person:grace", approved: true, reason: "both tests pass and the review is clean" },
    });
    expect(calls.filter(({ inResult }) => !inResult).map(({ branch, tool, do: effect }) => [branch, tool ?? effect])).toEqual([
      ["round half up", "read_file"],
      ["round half up", "edit_file"],
      ["round half up", "shell"],
      ["round half up", "measure"],
    ]);
  });

  // Mutants: report.md counts only what is the session's own, and calls what was published staged.
  test("has a report whose figures are those of the page and of calls.jsonl", async () => {
    const { usage } = read.spent.total;
    const all = usage.input + usage.output;
    const own = session.usage.input + session.usage.output;
    expect(own).toBeLessThan(all);
    const text = await file("report.md");
    expect(text).toContain(`, in this session's own past; ${count(all)} tokens on all branches`);
    expect(text).toMatch(/<summary>7 calls(?:, \d not ok)?, in this session's own past; 10 calls on all branches<\/summary>/);
  });

  test("says in what it was made, and what was verified", async () => {
    const manifest = JSON.parse(await file("manifest.json"));
    expect(manifest).toMatchObject({
      format: "openrath.dossier",
      store: "sqlite",
      node: process.version,
      workflows: [{ name: "repair", status: "done" }],
      sandboxes: [{ backend: "memory", isolation: "process" }],
    });
    expect(manifest.models).toEqual(
      expect.arrayContaining([
        { model: "openai/gpt-5-mini", calls: 10, sources: { live: 10 }, prices: ["2026-09-23"] },
        { model: "scripted", calls: 3, sources: { scripted: 3 }, prices: [] },
        { model: "openai/gpt-5.5", calls: 2, sources: { none: 1, recorded: 1 }, prices: [] },
      ]),
    );
    expect(JSON.parse(await file("verification.json"))).toMatchObject({ verify: { ok: true }, replay: { done: true, identical: true } });
  });

  test("replaces a dossier, and leaves alone what is none", async () => {
    const again = await dossier(session, join(folder, "out"));
    expect(again).toMatchObject({ verified: true, replayed: undefined });
    const other = join(folder, "other");
    await mkdir(other);
    expect((await dossier(session, other)).directory).toBe(other);
    const mine = join(folder, "mine");
    await mkdir(mine);
    await writeFile(join(mine, "manifest.json"), "{}");
    const refused = await dossier(session, mine).catch((error: unknown) => error);
    expect(RathError.is(refused, "value.unsupported")).toBe(true);
    expect(await readdir(mine)).toEqual(["manifest.json"]);
    await expect(dossier(session, join(folder, "store.db"))).rejects.toThrow("is no dossier");
  });
});

describe("the page", () => {
  test("is well formed, runs nothing, loads nothing, and its links lead somewhere", async () => {
    const text = await file("index.html");
    const { elements } = readMarkup(text);
    const ids = new Set(elements.flatMap(({ attributes }) => attributes.get("id") ?? []));
    for (const { name, attributes } of elements) {
      expect(["script", "iframe", "object", "embed", "img", "link", "form", "base"]).not.toContain(name);
      for (const [attribute, value] of attributes) {
        expect(attribute).not.toMatch(/^on|^src|^xlink|^action|^background/);
        if (attribute === "href") expect(ids).toContain(value.replace(/^#/, ""));
      }
    }
    expect(text).not.toMatch(/url\(|@import|javascript:/i);
    expect(text).toContain("default-src 'none'");
    expect(elements.filter(({ name }) => name === "section")).toHaveLength(22);
  });

  test("says what was asked, what came out, what was rejected and why, and what passed", async () => {
    const { text } = readMarkup(await file("index.html"));
    for (const words of [
      "Invoices are off by a cent",
      "totals() now adds in cents and rounds once.",
      "the branch “integer cents”",
      "test 2 still fails: rounding half up on each line gives 0.99",
      "not ok 2 - rounds once, at the end",
      "ok 1 - adds whole amounts, <b>bold</b> & all",
      "both tests pass and the review is clean",
      "A release needs the yes of a maintainer.",
      "repair/auditor had spent 0 of 400 tokens",
      "15 events no longer read",
      "every sandbox that was opened is on record as closed",
      "scripted: too many requests.",
      "parked: it waited for one answer",
    ])
      expect(text).toContain(words);
  });

  test("answers each of the questions, with a link to where", async () => {
    const text = await file("index.html");
    const list = text.slice(text.indexOf('<ol class="questions">'));
    const items = list.slice(0, list.indexOf("</ol>")).split("<li>").slice(1);
    expect(items).toHaveLength(28);
    for (const item of items) expect(item).toMatch(/<a href="#[a-z]+">/);
  });

  test("names the records of other systems, also those of a branch that was not kept", async () => {
    await using other = openrath({ store: "memory" });
    const linked = other
      .session("Pay the invoice")
      .link({ system: "crm", id: "ticket-7", uri: "https://crm.example/7", digest: "sha256-abc" });
    const lost = linked.fork("lost").link({ system: "ledger", id: "entry-9" });
    await other.save(lost.reject("not this one"));
    const paid = await linked.do("pay", () => "paid");
    const alone = join(folder, "linked.html");
    await write(paid, alone, { format: "html" });
    const page = await readFile(alone, "utf8");
    const section = page.slice(page.indexOf('<section id="links">'));
    const { text, elements } = readMarkup(section.slice(0, section.indexOf("</section>") + "</section>".length));
    for (const said of ["crm", "ticket-7", "https://crm.example/7", "sha256-abc", "the way to the result"]) expect(text).toContain(said);
    for (const said of ["ledger", "entry-9", "lost"]) expect(text).toContain(said);
    expect(elements.flatMap(({ attributes }) => attributes.get("href") ?? [])).toEqual(["#links"]);
    expect(await file("index.html")).toContain("No record of another system was named.");
  });

  test("can be written alone", async () => {
    const alone = join(folder, "alone.html");
    await write(session, alone, { format: "html" });
    const { text } = readMarkup(await readFile(alone, "utf8"));
    expect(text).toContain("This page is complete in itself");
    expect(text).not.toContain("SHA256SUMS");
  });
});

describe("what it is made of", () => {
  test("each model step is scripted, recorded, live, or without a reply", () => {
    const sources = read.effects.filter(({ op }) => op === "model").map((effect) => `${effect.by.split("/").at(-1)} ${sourceOf(effect)}`);
    expect(new Set(sources)).toEqual(
      new Set([
        "planner live",
        "rounder live",
        "counter live",
        "writer scripted",
        "reviewer recorded",
        "auditor none",
        "summary scripted",
        "releaser live",
      ]),
    );
  });

  // Mutant: whatever has a price is live.
  test("a script for which the user names a price is a script", async () => {
    await using other = openrath({ store: "memory", prices: { scripted: { input: 1, output: 10 } } });
    const spent = await new Agent({ model: scripted({ text: "ok", usage: { input: 1000 } }) }).forward(other.session("go"));
    expect(spent.usage.usd).toBeGreaterThan(0);
    const models = (await readDossier(spent)).effects.filter(({ op }) => op === "model");
    expect(models.map(sourceOf)).toEqual(["scripted"]);
  });

  test("branches are told apart by what became of them", () => {
    expect(Object.fromEntries(read.ways.map(({ label, part }) => [label, part]))).toMatchObject({
      "Invoices are off by a cent": "result",
      "integer cents": "result",
      changelog: "merged",
      "round half up": "rejected",
      "second opinion": "rejected",
    });
  });

  test("failures say what went wrong, what was tried again, and what worked later", () => {
    const { failed, retried, unknown, crossed, interrupted } = failuresOf(read);
    expect(failed.map(({ kind, what, later }) => [kind, what, later !== undefined])).toEqual([
      ["check", "tests", true],
      ["tool", "issue_tracker", false],
      ["check", "tests", false],
      ["model", "openai/gpt-5.5", false],
      ["agent", "repair/auditor", false],
    ]);
    expect(retried.map(({ effect, failures }) => [effect.name, effect.attempts, failures.length])).toEqual([
      ["anthropic/claude-sonnet-4-5", 2, 1],
      ["issue_tracker", 2, 1],
      ["issue_tracker", 2, expect.any(Number)],
    ]);
    expect(unknown).toEqual([]);
    expect(crossed).toHaveLength(1);
    expect(interrupted.map(({ words }) => words.split(/[ :]/)[0])).toEqual(["parked", "resumed"]);
  });

  test("a timeline has no holes: its stretches follow one another from the beginning to the end", () => {
    const { stretches, from, to, rows } = timelineOf(read);
    expect(stretches[0]?.from).toBe(from);
    expect(stretches.at(-1)?.to).toBeGreaterThanOrEqual(to);
    for (const [index, stretch] of stretches.entries()) if (index > 0) expect(stretch.from).toBe(stretches[index - 1]?.to);
    expect(rows.flatMap(({ bars }) => bars).length).toBeGreaterThanOrEqual(read.effects.length);
    expect(rows.flatMap(({ bars }) => bars).filter(({ kind }) => kind === "person")).toHaveLength(1);
  });
});
