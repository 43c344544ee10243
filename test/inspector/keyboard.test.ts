/** Everything with the keyboard alone: to a session, through its screens, to help, the palette and back; and the focus can always be seen. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launch, noChromium, open } from "./browser.ts";
import { settled } from "./look.ts";
import { buildStage, type Stage } from "./stage.ts";

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

/** Goes on with Tab, and tells which of the elements that got the focus did not show it. */
async function unseen(page: Page, times: number): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let pressed = 0; pressed < times; pressed++) {
    await page.keyboard.press("Tab");
    const told = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null || element === document.body) return undefined;
      const { outlineStyle, boxShadow } = getComputedStyle(element);
      const { width, height } = element.getBoundingClientRect();
      const named = `${element.tagName} ${(element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 40)}`;
      return outlineStyle === "none" && boxShadow === "none"
        ? `${named}: no sign of the focus`
        : width * height === 0
          ? `${named}: is not there`
          : undefined;
    });
    if (told !== undefined) wrong.push(told);
  }
  return wrong;
}

/** Waits until the address is one of these. */
async function at(page: Page, address: RegExp): Promise<void> {
  await expect.poll(() => page.url(), { timeout: 20_000 }).toMatch(address);
}

describe.skipIf(noChromium !== undefined)("the keyboard alone", () => {
  test("leads to a session and through every screen of it, to help, to the palette, and back", async () => {
    await using opened = await open(browser);
    const { page, problems } = opened;
    await page.goto(`${stage.url}/#/sessions`);
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.type("Slugs without");
    await page.getByRole("option", { name: /Slugs without accents/ }).waitFor();
    await page.keyboard.press("Enter");
    await at(page, new RegExp(`#/s/${stage.rich.session.id}/graph`));
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
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const [key, name] of Object.entries({ 2: "approvals", 3: "runs", 4: "memory", 1: "sessions" })) {
      await page.keyboard.press(key);
      await at(page, new RegExp(`#/${name}`));
    }
    expect(problems).toEqual([]);
  }, 90_000);

  test("shows where it is on every screen", async () => {
    await using opened = await open(browser);
    const { page } = opened;
    const wrong: string[] = [];
    const ofSession = ["graph", "transcript", "timeline", "scrubber", "call", "files", "verify", "raw"];
    const addresses = ["sessions", "approvals", "runs", "memory", "diff", ...ofSession.map((name) => `s/${stage.rich.session.id}/${name}`)];
    for (const address of addresses) {
      await page.goto("about:blank");
      await page.goto(`${stage.url}/#/${address}`);
      await settled(page);
      for (const one of await unseen(page, 25)) wrong.push(`${address}: ${one}`);
    }
    expect([...new Set(wrong)]).toEqual([]);
  }, 120_000);
});
