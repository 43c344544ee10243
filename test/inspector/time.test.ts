/** Timeline, scrubber and files: from a picture to the event behind it, through time, and from a line to whoever wrote it. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { connect } from "../../src/client/client.ts";
import { repository } from "../questions/story.ts";
import { inBrowser, sharedStage } from "./in-browser.ts";

const slow = { timeout: 20_000 };

/** What stands there, once it does. */
function shown(locator: Locator) {
  return expect.poll(() => locator.textContent(slow), slow);
}

/** What the address says behind the question mark. */
function said(page: Page): URLSearchParams {
  return new URLSearchParams(page.url().split("?")[1] ?? "");
}

inBrowser("time", sharedStage, (there) => {
  const at = (screen: string, search = ""): string => there.at(`s/${there.stage.session}/${screen}${search}`);
  const client = () => connect({ url: there.stage.url });
  /** Who wrote the lines of a file. */
  const blame = async (path: string) => (await client().sessions.blame(there.stage.session, { path }).page()).items;

  test("a bar of the timeline leads to its event, and a part of the time can be looked at", async () => {
    await using opened = await there.open(at("timeline"));
    const { page, problems } = opened;
    const table = page.getByRole("table", { name: "By agent" });
    await expect.poll(() => table.getByRole("row").count(), slow).toBeGreaterThan(10);
    expect(await table.getByRole("row", { name: /^repair\/releaser / }).textContent()).toMatch(/3 300/);

    // The last approval was denied: it was nothing but waiting for a person.
    const waits = page.getByTestId("plot").locator('path[data-kind="person"]').last();
    const box = await waits.boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) - 3, (box?.y ?? 0) + (box?.height ?? 0) / 2);
    const chosen = page.getByRole("region", { name: "Chosen event" });
    await shown(chosen).toMatch(/announce.*denied[\s\S]*waiting for a person/);
    const event = said(page).get("at");
    expect(event).toMatch(/^[0-9a-f]{64}$/);

    const plot = await page.getByTestId("plot").boundingBox();
    const [left, top, width] = [plot?.x ?? 0, (plot?.y ?? 0) + 20, plot?.width ?? 0];
    await page.mouse.move(left + width * 0.2, top);
    await page.mouse.down();
    await page.mouse.move(left + width * 0.4, top, { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => said(page).get("zoom"), slow).toMatch(/^[\d.]+-[\d.]+$/);
    await page.keyboard.press("0");
    await expect.poll(() => said(page).get("zoom"), slow).toBeNull();
    await page.keyboard.press("k");
    await expect.poll(() => said(page).get("at"), slow).not.toBe(event);

    await chosen.getByRole("link", { name: "Graph" }).click();
    await page.waitForURL(/\/graph\?/);
    expect(said(page).get("at")).toMatch(/^[0-9a-f]{64}$/);
    expect(problems).toEqual([]);
  });

  test("scrubbing by keys changes the state, the files and the memory that are shown", async () => {
    await using opened = await there.open(at("scrubber"));
    const { page, problems } = opened;
    const tokens = page.getByTestId("tokens");
    const line = page.getByTestId("event-line");
    await shown(tokens).toMatch(/^2\d 000 in/);
    const newest = await tokens.textContent();
    const wrong = page.getByRole("button", { name: "Next that went wrong" });
    expect([await wrong.isDisabled(), await wrong.getAttribute("title")]).toEqual([
      true,
      "Next that went wrong: there is none after this step",
    ]);

    await page.getByRole("slider").focus();
    await page.keyboard.press("Home");
    await wrong.and(page.locator(":enabled")).waitFor();
    await shown(tokens).toBe("0 in · 0 out");
    await shown(line).toMatch(/Slugs without accents/);
    expect(await page.getByRole("region", { name: "Memory" }).textContent()).toContain("Nothing had been recalled.");

    await page.keyboard.press("x");
    await shown(line).toMatch(/→ error/);
    await shown(tokens).toBe("2 000 in · 200 out");
    for (const _ of "123") await page.keyboard.press("}");
    await shown(tokens).not.toBe("2 000 in · 200 out");

    const written = (await blame("slugify.js")).find(({ text }) => text.includes("NFD"));
    await page.goto(at("scrubber", `?at=${written?.event}`));
    await shown(page.getByRole("region", { name: "Changes of slugify.js" })).toMatch(/NFD/);
    await page.keyboard.press("]");
    await shown(page.getByRole("region", { name: "Files", exact: true })).toContain("changed no file");

    await page.getByLabel(/A line as path:line/).fill("slugify.js:1");
    await page.getByRole("button", { name: "Find out" }).click();
    await page.getByTestId("hops").getByRole("link").first().click();
    await shown(line).toMatch(/edit_file/);
    await page.getByRole("button", { name: "Newest" }).click();
    await shown(tokens).toBe(newest);
    expect(problems).toEqual([]);
  });

  test("blame leads to the event that wrote the line", async () => {
    const [first] = await blame("slugify.js");
    await using opened = await there.open(at("files"));
    const { page, problems } = opened;
    await page.getByRole("region", { name: "Changed files" }).getByRole("button", { name: "slugify.js" }).click();
    await shown(page.getByRole("region", { name: "Changes of slugify.js" })).toMatch(/NFD/);
    await page.getByRole("button", { name: "Who wrote it" }).click();
    expect(said(page).get("path")).toBe("slugify.js");
    const content = page.getByRole("region", { name: "Content of slugify.js" });
    await content.getByRole("link", { name: /careful/ }).click();
    await page.waitForURL(/\/graph\?/);
    expect(said(page).get("at")).toBe(first?.event);
    expect(problems).toEqual([]);
  });

  test("the patch that is downloaded is one that git applies", async () => {
    await using opened = await there.open(at("files"));
    const { page, problems } = opened;
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download patch" }).click()]);
    const folder = await mkdtemp(join(tmpdir(), "openrath-patch-"));
    for (const [path, text] of Object.entries(repository)) await writeFile(join(folder, path), text);
    const patch = join(folder, "downloaded.patch");
    await download.saveAs(patch);
    await promisify(execFile)("git", ["apply", patch], { cwd: folder });
    expect(await readFile(join(folder, "slugify.js"), "utf8")).toBe(
      await (await client().sessions.file(there.stage.session, { path: "slugify.js" })).text(),
    );
    await rm(folder, { recursive: true });
    expect(problems).toEqual([]);
  });

  test("places without files say how to get some, and places that are not there lead back", async () => {
    await using opened = await there.open(at("files", "?at=1"));
    const { page, problems } = opened;
    await shown(page.locator("#main")).toMatch(/There were no files yet[\s\S]*session\.to/);
    await page.goto(at("scrubber", "?at=ffffffffffff"));
    await page.getByRole("button", { name: "To the newest" }).click();
    await page.getByTestId("state").waitFor();
    expect(problems).toEqual([]);
  });
});
