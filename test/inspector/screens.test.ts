/** Every screen on the rich session, in both themes, wide and narrow: it shows something, breaks nothing, and can be used by everybody. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { inBrowser, sharedStage } from "./in-browser.ts";
import { measured, settled, shoot, unseenFocus, violations } from "./look.ts";
import type { Looked } from "./stage.ts";

const ofProject = ["sessions", "approvals", "runs", "memory"];
const ofSession = ["graph", "transcript", "timeline", "scrubber", "call", "files", "verify", "raw"];

const screens: readonly (readonly [string, (stage: Looked) => string])[] = [
  ...ofProject.map((name) => [name, () => name] as const),
  ...ofSession.map((name) => [name, ({ session }: Looked) => `s/${session}/${name}`] as const),
  ["no-diff", () => "diff"],
  ["diff", ({ session, taught }) => `diff?a=${session}&b=${taught}`],
  ["no-session", () => "s/00000000-0000-7000-8000-000000000000/graph"],
  ["no-screen", () => "nothing/here"],
];

inBrowser("screens", sharedStage, (there) => {
  test.each(screens)("%s", async (name, address) => {
    await using opened = await there.open(address(there.stage));
    const { page, problems } = opened;
    const wrong: string[] = [];
    const fits = async (how: string): Promise<void> => {
      const { elements, sideways } = await measured(page);
      if (elements > 2000) wrong.push(`${how}: ${elements} elements`);
      if (sideways > 0) wrong.push(`${how}: ${sideways} pixels wider than the window`);
    };
    await settled(page);
    await shoot(page, `${name}-light`);
    await fits("light");
    wrong.push(...(await violations(page)));
    // The same elements in other colours.
    await page.emulateMedia({ colorScheme: "dark" });
    await shoot(page, `${name}-dark`);
    wrong.push(...(await violations(page, "color-contrast")).map((one) => `dark: ${one}`));
    wrong.push(...(await unseenFocus(page, 25)));
    await page.setViewportSize({ width: 900, height: 700 });
    await settled(page);
    await fits("narrow");
    // A session that is not there is answered with 404, which browsers write to the console by themselves.
    wrong.push(...problems.filter((problem) => !(name === "no-session" && /404/.test(problem))));
    expect(wrong).toEqual([]);
  });

  test("approvals fit a phone", async () => {
    await using phone = await there.open("approvals", { width: 390, height: 844 });
    await settled(phone.page);
    await shoot(phone.page, "approvals-phone");
    expect((await measured(phone.page)).sideways).toBe(0);
  });

  test.each(["graph", "transcript"])("a phone shows what can be done on the %s", async (name) => {
    await using phone = await there.open(`s/${there.stage.session}/${name}`, { width: 390, height: 844 });
    await settled(phone.page);
    await shoot(phone.page, `${name}-phone`);
    // What sticks out is cut off, and nothing can be scrolled to: the last button of the header says whether all are there.
    const { x = 0, width = 1000 } = (await phone.page.getByRole("button", { name: "Dossier" }).boundingBox()) ?? {};
    expect(x + width).toBeLessThanOrEqual(390);
    expect(phone.problems).toEqual([]);
  });

  test("the keyboard alone leads to a session and through every screen of it, to help, to the palette, and back", async () => {
    await using opened = await there.open("sessions");
    const { page, problems } = opened;
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.type("Slugs without");
    await page.getByRole("option", { name: /Slugs without accents/ }).waitFor();
    await page.keyboard.press("Enter");
    await at(page, new RegExp(`#/s/${there.stage.session}/graph`));
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await settled(page);
    for (const [key, name] of Object.entries({
      t: "transcript",
      i: "timeline",
      s: "scrubber",
      o: "call",
      e: "files",
      v: "verify",
      w: "raw",
      g: "graph",
    })) {
      await page.keyboard.press(key);
      await at(page, new RegExp(`/${name}(\\?|$)`));
      await settled(page);
    }
    // The rules of one screen do not change another that was there before.
    await page.keyboard.press("t");
    await at(page, /\/transcript(\?|$)/);
    await settled(page);
    await shoot(page, "transcript-again");
    const height = await page.evaluate(() => {
      const list = [...document.querySelectorAll("main *")].find((element) => getComputedStyle(element).contain === "strict");
      return list?.getBoundingClientRect().height ?? 0;
    });
    expect(height).toBeGreaterThan(200);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const [key, name] of Object.entries({ 2: "approvals", 3: "runs", 4: "memory", 1: "sessions" })) {
      await page.keyboard.press(key);
      await at(page, new RegExp(`#/${name}`));
    }
    expect(problems).toEqual([]);
  });
});

inBrowser("buttons", sharedStage, (there) => {
  test("that are the main thing keep their words readable under the pointer", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await using opened = await there.open(`s/${there.stage.session}/verify`);
      const { page } = opened;
      await page.emulateMedia({ colorScheme });
      await settled(page);
      const button = page.locator('button[data-look="main"]').first();
      await button.waitFor();
      const ground = (): Promise<string> => button.evaluate((element) => getComputedStyle(element).backgroundColor);
      const before = await ground();
      await button.hover();
      expect(await ground()).toBe(before);
    }
  });
});

/** Waits until the address is one of these. */
async function at(page: Page, address: RegExp): Promise<void> {
  await expect.poll(() => page.url(), { timeout: 20_000 }).toMatch(address);
}
