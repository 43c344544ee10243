// Prompts as a regression test: no key, no network; a changed prompt, tool schema or order of calls fails with a diff.
import { openrath, replay } from "openrath";
import { assertReplay, fixture, testRath } from "openrath/testing";
import { expect, test } from "vitest";
import { Fix } from "./fix.ts";

test("the fix workflow still asks what it asked", async () => {
  await using rath = testRath();
  const session = await fixture("test/sessions/fix.jsonl", rath, async () => {
    await using live = openrath();
    // without the first await, live is closed before there is a result
    return await (await live.run(new Fix(), live.session("Fix the failing test").to("local", { workspace: "fixtures/repo" }))).result();
  });
  await assertReplay(session, new Fix());
});

test("the same, by hand", async () => {
  await using rath = testRath();
  const report = await replay(await rath.import("test/sessions/fix.jsonl"), new Fix());
  if (!report.identical) console.log(report.field, report.expected, report.got);
  expect(report).toMatchObject({ identical: true });
});
