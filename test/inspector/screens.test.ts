/** Every screen, in both themes, on the rich session: it shows something, breaks nothing, and can be used by everybody. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launch, noChromium, open } from "./browser.ts";
import { measured, settled, shoot, violations } from "./look.ts";
import { buildStage, type Stage } from "./stage.ts";

if (noChromium !== undefined) console.log(`skipped: the screens of the inspector: ${noChromium}`);

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  if (noChromium !== undefined) return;
  [browser, stage] = await Promise.all([launch(), buildStage()]);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

const ofProject = ["sessions", "approvals", "runs", "memory"];
const ofSession = ["graph", "transcript", "timeline", "scrubber", "call", "files", "verify", "raw"];

function addresses(): readonly (readonly [string, string])[] {
  const { session, taught } = stage.rich;
  return [
    ...ofProject.map((name) => [name, `#/${name}`] as const),
    ...ofSession.map((name) => [name, `#/s/${session.id}/${name}`] as const),
    ["diff", `#/diff?a=${session.id}&b=${taught.id}`],
    ["no-session", "#/s/00000000-0000-7000-8000-000000000000/graph"],
    ["no-screen", "#/nothing/here"],
  ];
}

describe.skipIf(noChromium !== undefined)("screens", () => {
  test.each(["light", "dark"] as const)(
    "all of them, %s",
    async (theme) => {
      await using opened = await open(browser, { theme });
      const { page, problems } = opened;
      const wrong: string[] = [];
      for (const [name, address] of addresses()) {
        await page.goto("about:blank"); // nothing is left of the screen before
        await page.goto(`${stage.url}/${address}`);
        await settled(page);
        await shoot(page, `${name}-${theme}`);
        const { elements, sideways } = await measured(page);
        if (elements > 2000) wrong.push(`${name}: ${elements} elements`);
        if (sideways > 0) wrong.push(`${name}: ${sideways} pixels wider than the window`);
        for (const violation of await violations(page)) wrong.push(`${name}: ${violation}`);
        // A session that is not there is answered with 404, which browsers write to the console by themselves.
        for (const problem of problems.splice(0)) if (!(name === "no-session" && /404/.test(problem))) wrong.push(`${name}: ${problem}`);
      }
      expect(wrong).toEqual([]);
    },
    180_000,
  );

  test("nothing sticks out on a narrow window, and approvals fit a phone", async () => {
    await using narrow = await open(browser, { width: 900, height: 700 });
    const wrong: string[] = [];
    for (const [name, address] of addresses()) {
      await narrow.page.goto("about:blank");
      await narrow.page.goto(`${stage.url}/${address}`);
      await settled(narrow.page);
      const { sideways } = await measured(narrow.page);
      if (sideways > 0) wrong.push(`${name}: ${sideways}`);
    }
    await using phone = await open(browser, { width: 390, height: 844 });
    await phone.page.goto(`${stage.url}/#/approvals`);
    await settled(phone.page);
    await shoot(phone.page, "approvals-phone");
    if ((await measured(phone.page)).sideways > 0) wrong.push("approvals on a phone");
    expect(wrong).toEqual([]);
  }, 120_000);
});
