/** The same questions from the command line: what a user types, and the answer in what is printed. */
import { expect, test } from "vitest";
import type { Cost, Diff } from "../../src/audit/audit.ts";
import { projectOf } from "../../src/cli/project.ts";
import type { Session } from "../../src/index.ts";
import { call } from "../golden-cli/world.ts";
import { where } from "./rich.ts";
import { before, right, task, testCommand } from "./story.ts";
import { rich, session } from "./world.ts";

const { id } = session;

/** What a command prints when it is piped. */
async function cli(...argv: readonly string[]): Promise<string> {
  const { exit, out, err } = await call(() => projectOf(rich.open(), undefined), argv, { terminal: false, columns: 200 });
  expect([exit, argv.join(" "), exit === 0 ? "" : err]).toEqual([0, argv.join(" "), ""]);
  return out;
}
async function json<T = never>(...argv: readonly string[]): Promise<T> {
  return JSON.parse(await cli(...argv, "--json")) as T;
}
/** The cells of the lines that have these words. */
async function rows(words: string, ...argv: readonly string[]): Promise<readonly (readonly string[])[]> {
  return (await cli(...argv))
    .split("\n")
    .filter((line) => line.includes(words))
    .map((line) => line.split("\t"));
}
interface Hop {
  readonly relation: string;
  readonly event: string;
  readonly session: string;
  readonly by: string;
  readonly summary: string;
}
/** What led to something, nearest first. */
async function chain(...argv: readonly string[]): Promise<readonly string[]> {
  return (await json<readonly Hop[]>(...argv)).map(({ relation, summary }) => `${relation} ${summary}`);
}
const label = async (name: string): Promise<string> => {
  const lines = (await cli("export", id, "-", "--format", "lineage-jsonl")).trim().split("\n");
  const found = lines.map((line) => JSON.parse(line) as { readonly id: string; readonly label: string }).find((row) => row.label === name);
  return found?.id ?? "";
};
const called = (tool: string) => session.calls.filter((one) => one.tool === tool);
const coder = "repair/desk/attempt/careful";

test("Q1 Which branch produced the final result?", async () => {
  const [[, lineage] = []] = await rows("lineage\t", "show", id);
  expect(lineage).toMatch(/^merge of [0-9a-f]{12} "thorough", [0-9a-f]{12}$/);
  const branches = (await cli("export", id, "-", "--format", "lineage-jsonl"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(branches.filter(({ won }) => won).map((row) => row.label)).toEqual(["thorough"]);
});

test("Q2 Which tool (call) modified which file?", async () => {
  const changed = (await rows(" changed ", "log", id, "--oneline")).map(([, , , by, , , what = ""]) => [
    by,
    what.slice(0, what.indexOf(" → ")),
  ]);
  expect(changed.toSorted()).toEqual([
    [coder, `tool edit_file changed slugify.js in ${where}`],
    [coder, `tool edit_file changed slugify.js in ${where}`],
    ["repair/desk/attempt/writer", `tool shell changed CHANGES.md in ${called("shell").at(-2)?.sandbox}`],
  ]);
  expect((await rows("slugify", "blame", id, "slugify.js")).map(([line, event, by]) => [line, event, by])).toEqual([
    ["2", called("edit_file")[1]?.event, coder],
  ]);
});

test("Q3 Which memory item was recalled or committed?", async () => {
  const name = ([, line = ""]: readonly string[]) => line.slice(0, line.indexOf(","));
  expect((await rows("recalled\t", "show", id)).map(name)).toEqual([
    "memory://project/test-command@1 (score 1.4",
    "memory://project/test-command@1 (score 1.4",
    "memory://project/style@1 (score 0.885",
    "memory://project/test-command@1 (score 0.873",
  ]);
  expect((await rows("learned\t", "show", id)).map(name)).toEqual([
    "memory://project/changelog@1 (published",
    "memory://project/slug-rule@1 (published",
    "memory://project/style@2 (retracted",
    "memory://user/ada/release-day@1 (published",
  ]);
});

test("Q4 Which evidence was removed during compression?", async () => {
  const [[, context] = []] = await rows("context\t", "show", id);
  expect(context).toMatch(/^summary, 10 events no longer read, 560 to 67 tokens, \$0.0014 \(step \d+, repair\/shorter\)$/);
  const { compressions } = await json<{ readonly compressions: Session["compressions"] }>("show", id);
  expect(compressions.map(({ dropped }) => dropped)).toEqual(session.compressions.map(({ dropped }) => dropped));
});

test("Q5 What was the input state?", async () => {
  expect(await rows("input\t", "show", rich.runs.repair)).toEqual([["input", `${id}@5`]]);
  const shown = await cli("show", `${id}@5`);
  expect(shown).toContain(`user\t${task}`);
  expect(shown).toContain("placed\tmemory, network none");
  expect(shown).not.toContain("recalled");
});

test("Q6 What changed?", async () => {
  expect((await json<{ readonly files: { readonly changes: object[] } }>("show", id)).files.changes).toMatchObject([
    { path: "CHANGES.md", kind: "changed" },
    { path: "slugify.js", kind: "changed" },
  ]);
  const patch = await cli("diff", id, "--patch");
  for (const line of [
    `-${before}`,
    ...right
      .trimEnd()
      .split("\n")
      .map((one) => `+${one}\n`),
    "+- slugs drop accents\n",
  ])
    expect(patch).toContain(line);
});

test("Q7 Which backend performed the change?", async () => {
  const { calls } = await json<{ readonly calls: Session["calls"] }>("show", id);
  const changed = calls.filter(({ changes }) => changes.length > 0);
  const isolation = where === "local" ? "namespace" : "process";
  expect(changed.map(({ acted }) => [acted?.sandbox, acted?.isolation])).toEqual(Array(3).fill([where, isolation]));
});

test("Q8 Which memory or artifact influenced the decision?", async () => {
  const hops = await chain("why", id, "answer=split accents off");
  expect(hops[0]).toMatch(/^wrote repair\/desk\/plan\/planner\/lead said/);
  expect(hops).toContainEqual(expect.stringMatching(/^was-in-context .*recalled .*memory:\/\/project\/style@1/));
  for (const tool of ["read_file", "read_text_file", "research"])
    expect(hops).toContainEqual(expect.stringMatching(new RegExp(`^was-in-context ${tool} `)));
  expect(hops).toContainEqual(expect.stringMatching(/^wrote learn remembered memory:\/\/project\/test-command@1/));
});

test("Q9 How can the run be resumed or replayed?", async () => {
  const shown = await cli("show", rich.runs.repair);
  expect(shown).toContain("taken up\t6 times, 1 after its worker died");
  expect(await cli("replay", id)).toMatch(/^identical/);
  expect(await cli("replay", `${id}@12`)).toMatch(/^identical/);
  expect(await cli("verify", id)).toMatch(/^intact\t/);
  expect(await rich.uploads()).toBe("1.0.1\n");
});

test("Q10 Which branch produced a given claim?", async () => {
  const [hop] = await json<readonly Hop[]>("why", id, "answer=Accents are split off");
  expect(hop).toMatchObject({ session: await label("thorough"), by: coder });
  expect((await rows("Accents are split off", "log", id, "--graph")).map((cells) => cells.at(-1))).toContainEqual(
    expect.stringMatching(/Accents are split off and dropped\. \(thorough\)$/),
  );
});

test("Q11 Which sandbox touched a file?", async () => {
  const [[, , , , , branch, what] = []] = await rows(" changed CHANGES.md in ", "log", id, "--oneline");
  const [opened] = await rows((what ?? "").split(" in ")[1]?.split(" ")[0] ?? "?", "sandbox", "ls", "--session", id);
  expect([branch, opened?.slice(2, 4)]).toEqual([await label("notes"), [await label("notes"), rich.runs.repair]]);
});

test("Q12 Which memory item was recalled at step seven?", async () => {
  const recalled = await rows("step 7)", "show", id);
  expect(recalled).toEqual([
    ["recalled", `memory://project/test-command@1 (score 1.4, untrusted, not given to a model, step 7): ${testCommand}`],
  ]);
});

test("Q13 What exact context existed at step twelve, and can I replay or fork from there?", async () => {
  const shown = await cli("show", `${id}@12`);
  expect(shown).toContain(`user\t${task}`);
  expect(shown).toContain("route\tplan, memory project (of plan, attempt): nothing is planned yet");
  const request = await json<{ readonly model: string; readonly messages: readonly unknown[] }>("show", `${id}@18`, "--request");
  expect(request).toEqual(JSON.parse(JSON.stringify(await session.at(18).request())));
  const forked = (await cli("fork", `${id}@12`)).trim();
  expect(await rows("lineage\t", "show", forked)).toEqual([["lineage", `fork of ${session.at(12).head.slice(0, 12)}`]]);
});

test("Q14 What conversation state, memory context and branch provenance led to this tool call?", async () => {
  const event = called("publish")[0]?.id ?? "";
  expect((await chain("why", id, `event=${event}`)).slice(0, 3)).toEqual([
    'approved human:ada approved it with {"tag":"next","version":"1.0.1"}: "not to everybody yet"',
    "called repair/releaser called publish",
    "decided repair/releaser asked acme/fast, which read 1 summary, 3 messages, 1 merge, 1 reply",
  ]);
  const shown = await cli("show", `${id}@${event}`);
  expect(shown).toContain("user\tPublish it, and tell everybody.");
  expect(shown).toContain("recalled\tmemory://project/style@1");
});

test("Q15 What memory state was present before compression?", async () => {
  const shown = await cli("show", `${id}@${(session.compressions[0]?.step ?? 0) - 1}`);
  expect(shown.match(/^(recalled|learned)\tmemory:\S+/gm)).toEqual([
    "recalled\tmemory://project/test-command@1",
    "recalled\tmemory://project/test-command@1",
    "recalled\tmemory://project/style@1",
    "learned\tmemory://project/changelog@1",
  ]);
});

test("Q16 How do two branches from the same point compare?", async () => {
  const [one, two] = [await label("small"), `${id}@${session.checks[1]?.event}`];
  expect(await cli("diff", one, two, "--stat")).toBe("changed\t2\t1\tslugify.js\n");
  const found = await json<Diff>("diff", one, two);
  expect(found.spent.b.usage.usd).toBeCloseTo(0.07, 10);
  expect(found.checks.map(({ a, b }) => [a?.reason, b?.reason])).toEqual([[undefined, "ok 2 of 2"]]);
});

test("Q17 Which branches were abandoned or rejected, and why?", async () => {
  const listed = await rows("rejected", "ls", "--all", "--status", "rejected");
  expect(listed.map(([branch]) => branch).toSorted()).toEqual([await label("costly"), await label("small")].toSorted());
  expect(await rows("rejected\t", "show", await label("small"))).toEqual([["rejected", "accents are left in"]]);
  expect(await rows("rejected\t", "show", await label("costly"))).toEqual([["rejected", "stopped: budget"]]);
});

test("Q18 Which role/agent, tool call and workspace produced this answer?", async () => {
  const [wrote, ...rest] = await json<readonly Hop[]>("why", id, "answer=Accents are split off");
  expect([wrote?.by, wrote?.session]).toEqual([coder, await label("thorough")]);
  expect(rest.map(({ summary }) => summary)).toContainEqual(expect.stringMatching(/^edit_file .*, changed slugify.js/));
});

test("Q19 What were the arguments and result; what is the diff; what failed and was retried?", async () => {
  const { calls } = await json<{ readonly calls: Session["calls"] }>("show", id);
  expect(calls.find(({ tool }) => tool === "edit_file")?.input).toMatchObject({ path: "slugify.js", find: before });
  expect(calls.filter(({ outcome }) => outcome.type !== "ok").map(({ tool, input }) => [tool, input])).toEqual([
    ["research", "{ task: "],
    ["announce", { to: "everybody" }],
  ]);
  const [first] = called("edit_file");
  expect(await cli("diff", `${id}@${first?.id}..${id}@${first?.event}`, "--patch")).toContain(`-${before}`);
  const { both } = await call(() => projectOf(rich.open(), undefined), ["log", id], { terminal: true, columns: 200 });
  expect(both).toMatch(/ 2 attempts\n.*an attempt before failed: the registry is busy\n/);
  expect(both).toMatch(/ 2 attempts\n.*\n.*an attempt before failed: scripted: too many requests\.\n/);
});

test("Q20 Who approved or rejected an action, and which validation signal confirmed the outcome?", async () => {
  const decided = await rows("", "approvals", "ls", "--decided", id);
  expect(decided.filter((cells) => cells.length > 1).map(([, kind, what, how, by, reason]) => [kind, what, how, by, reason])).toEqual([
    [
      "unknown",
      "upload: started, and nobody knows whether it happened",
      '{"type":"ok","value":"uploaded 1.0.1"}',
      "human:ada",
      "it is in the bucket",
    ],
    [
      "approval",
      'publish {"tag":"latest","version":"1.0.1"}',
      'approved with {"tag":"next","version":"1.0.1"}',
      "human:ada",
      "not to everybody yet",
    ],
    ["approval", 'announce {"to":"everybody"}', "denied", "human:bob", "it is only a preview"],
    ["question", "On which day may it go out?", "monday", "human:ada", ""],
  ]);
  expect((await rows("check\t", "show", id)).map(([, verdict]) => verdict)).toEqual([
    "tests: failed (not ok: accents are left in)",
    "tests: passed (ok 2 of 2)",
    "tests: passed (ok 2 of 2)",
    "review: passed (It fixes the cause.)",
  ]);
});

test("Q21 Why was this memory present in the run: what was retrieved, which session asked, which workflow used it, did it influence planning or validation?", async () => {
  const uses = await json<readonly { readonly session: string; readonly by: string; readonly injected: boolean }[]>(
    "memory",
    "used-by",
    "test-command",
  );
  expect(uses.filter((use) => use.session === id).map(({ by, injected }) => [by, injected])).toEqual([
    ["repair", false],
    ["repair/desk/plan/planner", true],
    ["follow", true],
  ]);
  const { checks } = await json<{ readonly checks: Session["checks"] }>("show", id);
  expect(checks.map(({ acted }) => acted?.commands?.[0]?.command)).toEqual([testCommand, testCommand, testCommand, undefined]);
});

test("Q22 What evidence justified this memory write, from which kind of source, at what scope, can it be rolled back?", async () => {
  const shown = await cli("memory", "show", "slug-rule");
  expect(shown).toContain("memory\tmemory://project/slug-rule");
  expect(shown).toContain("origin\tvalidation");
  expect(shown).toContain(`because\t${session.checks[2]?.event}`);
  const [, justified] = await json<readonly Hop[]>("memory", "why", "slug-rule");
  expect(justified).toMatchObject({ relation: "justified", event: session.checks[2]?.event });
  const rule = await rich.rath.memory.get("slug-rule");
  await cli("memory", "rollback", String((rule?.revision ?? 0) - 1), "--reason", "only to see", "--yes");
  expect(await rich.rath.memory.get("slug-rule")).toMatchObject({ state: "retracted" });
  await cli("memory", "rollback", String(rule?.revision), "--reason", "it was right", "--yes");
  expect(await rich.rath.memory.get("slug-rule")).toMatchObject({ state: "published" });
});

test("Q23 Which agent gets the session next, with what context, which sandbox runs the next command, what validation is required? Why was this workflow selected?", async () => {
  expect((await rows("route\t", "show", id)).map(([, route]) => route)).toEqual([
    "plan, memory project (of plan, attempt): nothing is planned yet",
    `attempt, in ${where}, must pass tests (of plan, attempt): there is a plan`,
    "done (of plan, attempt): the tests pass",
  ]);
  const { routes } = await json<{ readonly routes: Session["routes"] }>("show", id);
  expect(routes[1]?.context).toContain("Carry out this plan: ");
});

test("Q25 What did it cost, where did the budget cross, where was it interrupted?", async () => {
  const costs = await rows("", "cost", id, "--by", "agent");
  expect(costs.slice(0, 2).map(([agent, , , , , , , usd]) => [agent, usd])).toEqual([
    [coder, "0.07"],
    ["repair/desk/attempt/costly", "0.014"],
  ]);
  const { total, crossed, interrupted } = await json<Cost>("cost", id);
  expect(total.usage.usd).toBeCloseTo(0.1344, 10);
  expect(crossed).toMatchObject([{ by: "repair/desk/attempt/costly", limit: "usd", of: 0.02, spent: 0.014 }]);
  expect(interrupted).toMatchObject([{ run: rich.runs.repair, abandoned: true }]);
  expect((await rows("stopped: budget", "log", id, "--graph", "--oneline")).map((cells) => cells.at(-1))).toEqual([
    "stopped: budget: budget: $0.02 would be crossed (costly)",
    "rejected: stopped: budget (costly)",
  ]);
});

test("Q26 Who still owns the sandbox handle, and was it cleaned up?", async () => {
  const records = (await rows("", "sandbox", "ls", "--session", id)).filter((cells) => cells.length > 1);
  const labels = await Promise.all(["thorough", "notes", "small", "costly"].map(label));
  expect(records.map(([, , branch, run, status, , closed]) => [branch, run, status, closed]).toSorted()).toEqual(
    [...labels.map((branch) => [branch, rich.runs.repair, "lost", ""]), [id, rich.runs.follow, "closed", "the run ended"]].toSorted(),
  );
  // What the dead process left on this disk was removed when the next sandbox was opened.
  expect(await cli("sandbox", "ls")).toBe("");
});

test("Q27 How do external (MCP) effects return as lineage, artifacts, backend evidence?", async () => {
  const [[, , , , , , listed = ""] = []] = await rows("tools of", "log", id, "--oneline");
  expect(listed).toMatch(/^do tools of secure-filesystem-server → ok \{"digest":"[0-9a-f]{64}","server":"secure-filesystem-server",/);
  const [[, , , by, , branch, what] = []] = await rows("tool write_file", "log", id, "--oneline");
  expect([by, branch]).toEqual(["repair/desk/plan/planner", id]);
  expect(what).toContain("Successfully wrote to");
  expect((await chain("why", id, `event=${called("write_file")[0]?.event}`))[0]).toBe("called repair/desk/plan/planner called write_file");
});

test("Q28 What moves between roles besides transcript text?", async () => {
  const handed = called("transfer_to_lead")[0]?.event ?? "";
  const shown = await json<
    Record<"files" | "memory" | "placement" | "usage", { readonly reads?: readonly object[]; readonly hash?: string }>
  >(...["show", `${id}@${handed}`]);
  expect(shown).toMatchObject({ placement: { sandbox: "memory" }, usage: { input: 6000 }, files: { hash: session.at(handed).files.hash } });
  expect(shown.memory.reads).toHaveLength(3);
  expect(await json("show", rich.runs.repair)).toMatchObject({ limits: { usd: 5 } });
});
