/** Everything with the keyboard alone: to a session, through its screens, to help, the palette and back; and the focus can always be seen. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { inBrowser, sharedStage } from "./in-browser.ts";
import { settled } from "./look.ts";

/** Waits until the address is one of these. */
async function at(page: Page, address: RegExp): Promise<void> {
  await expect.poll(() => page.url(), { timeout: 20_000 }).toMatch(address);
}

inBrowser("the keyboard alone", sharedStage, (there) => {
  test("leads to a session and through every screen of it, to help, to the palette, and back", async () => {
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
