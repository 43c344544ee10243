/** Who was asked, in every format that tells of it: the same, whether or not a call knew in time that somebody would be. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dossier, write } from "../../src/audit/audit.ts";
import { Agent, type Session, tool } from "../../src/index.ts";
import { scripted } from "../../src/model/scripted.ts";
import { testRath } from "../../src/testing/testing.ts";
import { decoded } from "../support/collector.ts";
import { readMarkup } from "../support/markup.ts";

let folder = "";
let session: Session;
const rath = testRath();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-asked-"));
  // A JSON Schema is checked while the call is on record already: all three begin later than they were called.
  const named = (name: string, needsApproval: boolean) =>
    tool({ name, description: name, input: { type: "object" }, repeat: "safe", needsApproval, run: () => `${name} done` });
  const agent = new Agent({
    name: "clerk",
    model: scripted({ calls: ["free", "ship", "burn"].map((name) => ({ tool: name, input: { to: "<home>" } })) }, "done"),
    tools: [named("free", false), named("ship", true), named("burn", true)],
  });
  const run = await rath.run(agent, rath.session("go"));
  await run.settle();
  for (const pending of await rath.pending())
    await rath.decide(
      pending.id,
      pending.kind === "approval" && pending.tool === "ship"
        ? { by: "human:ada", approve: true, input: { to: "sea" }, reason: "by *boat*" }
        : { by: "human:bob", approve: false, reason: "</summary><b>no</b>" },
    );
  session = await run.result();
});
afterAll(async () => {
  await rath.close();
  await rm(folder, { recursive: true, force: true });
});

// Mutant: every call that began later than it was called waited for an approval.
test("a trace has a wait for those that somebody was asked about and let happen, and for no other", async () => {
  const file = join(folder, "trace.json");
  await write(session, file, { format: "otlp" });
  const spans = decoded(await readFile(file, "utf8")).resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans));
  const waits = spans.filter(({ name }) => name === "wait_for_approval");
  expect(waits.map(({ parentSpanId }) => spans.find(({ spanId }) => spanId === parentSpanId)?.name)).toEqual(["execute_tool ship"]);
});

// Mutants: reasons are told of refusals alone; what was approved instead is left out.
test("a report says who decided what and why", async () => {
  const file = join(folder, "report.md");
  await write(session, file, { format: "markdown" });
  const decisions = /## Decisions\n\n([^#]*)/.exec(await readFile(file, "utf8"))?.[1];
  const at = String.raw`\d{4}-\S+Z`;
  expect(decisions).toMatch(
    new RegExp(
      `^- \`ship \\{"to":"<home>"\\}\`: \`approved with \\{"to":"sea"\\}\` by \`human:ada\`, ${at}, because \`by \\*boat\\*\`\n` +
        `- \`burn \\{"to":"<home>"\\}\`: \`denied\` by \`human:bob\`, ${at}, because \`</summary><b>no</b>\``,
    ),
  );
});

test("a dossier says why somebody was asked, and which calls nobody was asked about", async () => {
  const { directory, page } = await dossier(session, join(folder, "dossier"));
  const { text } = readMarkup(await readFile(page, "utf8"));
  expect(text).toContain("the tool demands it");
  expect(text).not.toContain("its outcome was unknown");
  const calls = (await readFile(join(directory, "calls.jsonl"), "utf8")).trimEnd().split("\n");
  expect(calls.map((line) => JSON.parse(line)).map(({ tool: name, approval }) => [name, approval?.approved, approval?.by])).toEqual([
    ["free", undefined, undefined],
    ["ship", true, "human:ada"],
    ["burn", false, "human:bob"],
  ]);
});
