/** The graph in a real browser, on the rich session: what it shows, how one moves in it, and that what happens moves nothing. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { connect } from "../../src/client/client.ts";
import type { Opened } from "./browser.ts";
import { inBrowser, sharedStage } from "./in-browser.ts";
import { serveProject } from "./project.ts";

const rowHeight = 28;
const rowsOf = (page: Page): Locator => page.getByRole("treeitem");
const chosen = (page: Page): Locator => page.locator('[role="treeitem"][aria-selected="true"]');
const row = (page: Page, text: string): Locator => rowsOf(page).filter({ hasText: text }).first();
const tree = (page: Page): Locator => page.getByRole("tree");

async function scrollTo(page: Page, index: number): Promise<void> {
  await tree(page).evaluate((list, top) => {
    list.scrollTop = top;
  }, index * rowHeight);
}

/** Looks until it is so: a busy machine takes its time. */
const eventually = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: 20_000 });

inBrowser("the graph", sharedStage, (there) => {
  const link = (): string => there.at(`s/${there.stage.session}/graph`);

  async function graph(address = link()): Promise<Opened> {
    const opened = await there.open(address);
    await rowsOf(opened.page).first().waitFor();
    return opened;
  }

  test("rows are turns, branches stand with what they cost, and the one that won is the thick line", async () => {
    await using opened = await graph();
    const { page, problems } = opened;
    await row(page, "user: The tests of this repository fail.").waitFor();
    const branches = page.getByRole("navigation", { name: /^Branches/ });
    await branches.getByRole("button", { name: /^thorough won cost \$0\.08/ }).waitFor();
    expect(await branches.getByRole("button").count()).toBe(7);
    expect(await branches.getByRole("button", { name: /rejected/ }).count()).toBe(2);
    await branches.getByRole("button", { name: /^thorough/ }).click();
    await eventually(() => chosen(page).textContent()).toContain('fork "thorough"');
    const [won, lost] = [row(page, 'fork "thorough"'), row(page, 'fork "small"')];
    expect(await won.locator("path[class*=main]").count()).toBe(1);
    expect(await lost.getAttribute("data-quiet")).toBe("true");
    expect(await lost.locator('path[data-lane$="rejected"]').count()).toBeGreaterThan(0);
    expect(problems).toStrictEqual([]);
  });

  test("keys move, unfold and follow a branch; the address follows, and brings one back to the place", async () => {
    await using opened = await graph();
    const { page, problems } = opened;
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await eventually(() => chosen(page).textContent()).toContain("user: The tests");
    await page.keyboard.press("k");
    await eventually(() => chosen(page).textContent()).toContain("session");
    await row(page, "calls read_file, advisory").click();
    await page.keyboard.press("l");
    await eventually(() => page.locator('[aria-level="2"]').count()).toBe(7);
    expect(await chosen(page).getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await eventually(() => chosen(page).textContent()).toContain("calls read_file, advisory");
    expect(await chosen(page).getAttribute("aria-level")).toBe("2");
    await page.keyboard.press("h");
    await eventually(() => page.locator('[aria-level="2"]').count()).toBe(0);

    await scrollTo(page, 26);
    await row(page, "user: Fix the cause.").click();
    await page.keyboard.press("Shift+J");
    await eventually(() => chosen(page).textContent()).toContain("careful");
    await page.keyboard.press("Shift+K");
    await page.keyboard.press("Shift+K");
    await eventually(() => chosen(page).textContent()).toContain('fork "thorough"');
    const { nodes, edges } = await connect({ url: there.stage.url }).sessions.graph(there.stage.session);
    const thorough = nodes.find(({ label }) => label === "thorough")?.id;
    await eventually(() => page.url()).toContain(`at=${edges.find(({ to, kind }) => to === thorough && kind === "forked")?.event}`);
    const text = await chosen(page).textContent();
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Find" }).getByRole("combobox").waitFor();
    await page.keyboard.press("Escape");

    await using again = await there.open(page.url());
    await chosen(again.page).waitFor();
    await eventually(() => chosen(again.page).textContent()).toBe(text);
    expect(await chosen(again.page).isVisible()).toBe(true);
    expect([...problems, ...again.problems]).toStrictEqual([]);
  });

  test("the way to the first row stands out under the pointer and with keys", async () => {
    await using opened = await graph();
    const { page, problems } = opened;
    await scrollTo(page, 26);
    const message = row(page, "user: Rewrite it all.");
    await message.hover();
    await eventually(() => tree(page).getAttribute("data-way")).toBe("true");
    const on = page.locator('[data-path="true"]');
    expect(await on.last().textContent()).toContain("Rewrite it all.");
    expect(await on.allTextContents()).toContainEqual(expect.stringContaining('fork "costly"'));
    expect(await on.allTextContents()).not.toContainEqual(expect.stringContaining('fork "thorough"'));
    await page.mouse.move(1100, 20);
    await eventually(() => tree(page).getAttribute("data-way")).toBe("false");
    await page.keyboard.press("End");
    await page.keyboard.press("k");
    await eventually(() => tree(page).getAttribute("data-way")).toBe("true");
    await page.keyboard.press("Escape");
    await eventually(() => tree(page).getAttribute("data-way")).toBe("false");
    expect(problems).toStrictEqual([]);
  });

  test("details say what was done, who decided, and what was in context; places are marked and compared", async () => {
    await using opened = await graph();
    const { page, problems } = opened;
    await scrollTo(page, 55);
    await row(page, "calls publish").click();
    const details = page.getByRole("complementary", { name: "Details" });
    await details.getByText("human:ada").first().waitFor();
    await details.getByText("“not to everybody yet”").waitFor();
    await details.getByRole("button", { name: "Why?" }).click();
    await details.getByText("was in context").first().waitFor();
    expect(await details.getByText(/caused/).count()).toBe(0);
    await page.keyboard.press("m");
    await page.keyboard.press("j");
    await page.keyboard.press("c");
    await eventually(() => page.url()).toMatch(/#\/diff\?a=[^&]+(%40|@)[0-9a-f]{64}&b=/);
    expect(problems).toStrictEqual([]);
  });

  test("a search lists hits, and n goes from one to the next", async () => {
    await using opened = await graph();
    const { page, problems } = opened;
    await page.keyboard.press("/");
    await page.keyboard.type("only a preview");
    const found = page.getByRole("list", { name: "Found" });
    await found.getByRole("button").first().waitFor();
    expect(await found.getByRole("button").first().textContent()).toMatch(/(called|returned|added) · \w/);
    await eventually(() => page.url()).toContain("q=only");
    await page.keyboard.press("Enter");
    await eventually(() => chosen(page).textContent()).toContain("denied");
    await tree(page).focus();
    await page.keyboard.press("n");
    await eventually(() => found.locator('[aria-current="true"]').count()).toBe(1);
    expect(await chosen(page).isVisible()).toBe(true);
    expect(problems).toStrictEqual([]);
  });

  test("what happens appears at the end and moves nothing", async () => {
    await using project = await serveProject();
    const { rath, url, client } = project;
    let session = rath.session("Begin.");
    for (let turn = 1; turn <= 60; turn++) {
      session = session.say(`turn ${turn}`);
      if (turn % 20 === 0) await rath.save(session.fork(`branch ${turn}`).say("another way"));
    }
    await rath.save(session);
    await using opened = await graph(`${url}/#/s/${session.id}/graph`);
    const { page, problems } = opened;
    await page.getByText("live", { exact: true }).waitFor();
    await scrollTo(page, 20);
    await eventually(() => row(page, 'fork "branch 20"').isVisible()).toBe(true);
    const before = await row(page, 'fork "branch 20"').boundingBox();
    await client.sessions.say(session.id, "And what of the docs?");
    const button = page.getByRole("button", { name: "1 new below" });
    await button.waitFor();
    expect(await tree(page).evaluate((list) => list.scrollTop)).toBe(20 * rowHeight);
    expect(await row(page, 'fork "branch 20"').boundingBox()).toStrictEqual(before);
    await button.click();
    await row(page, "user: And what of the docs?").waitFor();
    await eventually(() => button.count()).toBe(0);
    expect(problems).toStrictEqual([]);
  });

  test("a server that is away for a moment takes away no more than the screen, which comes back with it", async () => {
    await using project = await serveProject();
    const session = await project.rath.save(project.rath.session("Begin."));
    await using opened = await graph(`${project.url}/#/s/${session.id}/graph`);
    const { page } = opened;
    const screens = page.getByRole("navigation", { name: "Screens" });
    await project.kill();
    await screens.getByRole("link", { name: "Memory" }).click();
    await page.getByRole("alert").getByText("The server does not answer").waitFor();
    expect(await screens.isVisible()).toBe(true);
    await project.again();
    await page.getByRole("heading", { level: 1, name: "Memory" }).waitFor();
    expect(page.url()).toContain("#/memory");
    // A second time the page waits to be asked.
    await project.kill();
    await screens.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("alert").waitFor();
    await project.again();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  });
});
