/** Two branches compared, a record verified and a memory taken back, each through the page. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { connect, type DiffResource } from "../../src/client/client.ts";
import { serveDamaged } from "./damaged.ts";
import { inBrowser, sharedStage } from "./in-browser.ts";
import { serveProject } from "./project.ts";

inBrowser("the inspector", sharedStage, (there) => {
  const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name });

  test("shows why a branch differs, and where it began to", async () => {
    await using project = await serveProject();
    const { rath, url, client } = project;
    const { id } = await rath.save(rath.session("Begin.").say("Go on."));
    const fork = await client.sessions.fork(id, { label: "another question" });
    await client.sessions.say(id, "Is anything left to do?");
    await client.sessions.say(fork.id, "Is anything left to pay?");
    await using opened = await there.open(`${url}/#/diff?a=${id}`);
    const { page, problems } = opened;
    await page.getByRole("listitem").filter({ hasText: "another question" }).getByRole("button", { name: "as b" }).click();
    await heading(page, "First difference").waitFor();
    const fields = page.getByRole("row").filter({ hasText: "data.parts[0].text" });
    expect(await fields.getByRole("cell").allTextContents()).toEqual(["Is anything left to do?", "Is anything left to pay?"]);
    expect(await page.getByText("Common ancestor:").textContent()).toContain(`${id.slice(0, 26)}@`);
    expect(new URL(page.url()).hash).toContain(`b=${fork.id}`);
    await page.getByRole("button", { name: /^Messages/ }).click();
    await heading(page, /^Messages 1/).waitFor();
    await page.getByRole("button", { name: "Swap the two sides" }).click();
    await page.waitForURL((url) => url.hash.includes(`a=${fork.id}`));
    await fields.waitFor();
    expect(await fields.getByRole("cell").allTextContents()).toEqual(["Is anything left to pay?", "Is anything left to do?"]);
    const side = page.getByRole("textbox", { name: /^Side b/ }).or(page.getByRole("combobox", { name: /^Side b/ }));
    await side.fill(fork.id);
    await side.press("Enter");
    await page.getByText("The same happened on both sides.").waitFor();
    await side.fill("ffffffff");
    await side.press("Enter");
    await page.getByRole("alert").filter({ hasText: "It is not here" }).waitFor();
    expect(problems.filter((problem) => !problem.includes("404"))).toEqual([]);
  });

  test("shows fifty thousand aligned events without freezing", async () => {
    const { session: a, taught: b, url } = there.stage;
    const small = await connect({ url }).project.diff({ a, b });
    await using opened = await there.open();
    const { page, problems } = opened;
    await page.route("**/v1/diff?*", (route) => route.fulfill({ json: grown(small, 50_000) }));
    await page.goto(there.at(`diff?a=${a}&b=${b}&section=events`));
    await page.getByText("only in b").first().waitFor();
    const shown = await page.evaluate<number>(
      'performance.now() - performance.getEntriesByType("resource").findLast(({ name }) => name.includes("/v1/diff")).responseEnd',
    );
    await page.getByRole("button", { name: "Show what is the same" }).click();
    await page.keyboard.press("End");
    const nodes = await page.locator("*").count();
    console.log(`diff of 50 000 events: shown ${Math.round(shown)} ms after they came, ${nodes} nodes`);
    expect(nodes).toBeLessThan(2000);
    expect(shown).toBeLessThan(10_000);
    expect(problems).toEqual([]);
  });

  test("verifies a record, against an anchor, and by replaying it", async () => {
    const { session: id, url } = there.stage;
    await using opened = await there.open(`s/${id}/verify`);
    const { page, problems } = opened;
    await heading(page, "The record is intact").waitFor();
    expect(await page.getByText(`openrath verify ${id}`).count()).toBe(1);
    const item = (name: string) => page.getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });
    expect(await item("Chain of hashes").textContent()).toContain("holds");
    expect(await item("Anchor").last().textContent()).toContain("not checked");
    const { statement = "" } = await connect({ url }).sessions.verify(id);
    await page.getByLabel("Anchor").setInputFiles({ name: "kept.jsonl", mimeType: "text/plain", buffer: Buffer.from(statement) });
    await item("held against the statements you gave").getByText("holds", { exact: true }).waitFor();
    await page.getByRole("checkbox", { name: "Replay its runs, too" }).check();
    await heading(page, "Replay").waitFor();
    const steps = page.getByRole("region", { name: "Steps of the replay" }).getByRole("listitem");
    expect(await steps.first().textContent()).toContain("identical");
    expect(await page.getByText(`openrath verify ${id} --anchor kept.jsonl --replay`).count()).toBe(1);
    expect(problems).toEqual([]);
  });

  test("says exactly where a record was tampered with", async () => {
    await using damaged = await serveDamaged(there.stage);
    await using opened = await there.open(`${damaged.url}/#/s/${damaged.session}/verify`);
    const { page, problems } = opened;
    await page.getByRole("alert").getByRole("heading", { name: "This record cannot be trusted" }).waitFor();
    const place = page.getByRole("listitem").filter({ hasText: "its data or salt was changed" });
    expect(await place.textContent()).toContain(`step ${damaged.step}`);
    expect(await place.getByRole("link", { name: "Raw" }).getAttribute("href")).toBe(`/#/s/${damaged.session}/raw?at=${damaged.event}`);
    expect(await page.getByRole("listitem").filter({ hasText: "Chain of hashes" }).textContent()).toContain("1 problem");
    expect(problems).toEqual([]);
  });

  test("verifies a record that cannot be read any more", async () => {
    await using damaged = await serveDamaged(there.stage, { of: "envelope" });
    await using opened = await there.open(`${damaged.url}/#/s/${damaged.session}/graph`);
    const { page } = opened;
    await page.getByRole("heading", { name: "This record cannot be trusted" }).waitFor();
    expect(
      await page
        .getByRole("listitem")
        .filter({ hasText: damaged.event.slice(0, 12) })
        .count(),
    ).toBeGreaterThan(0);
  });

  test("retracts a memory with what was made of it, by somebody, for a reason", async () => {
    await using project = await serveProject();
    const { rath, client } = project;
    const { uri } = await client.memory.remember("coast/tide", { content: "High water is at noon.", reason: "the harbour says so" });
    const read = await rath.session("When is high water?").recall("high water tide");
    await read.remember({ key: "coast/lunch", content: "Lunch is at high water.", publish: "now" });
    await using opened = await there.open(`${project.url}/#/memory`);
    const { page, problems } = opened;
    await page.getByRole("searchbox", { name: "Search memory" }).fill("tide high water");
    await page.getByRole("link", { name: /^coast\/tide/ }).click();
    await page.getByText("the harbour says so").first().waitFor();
    await page.getByText("not given to a model").first().waitFor();
    await page.getByRole("button", { name: "Retract…" }).click();
    const dialog = page.getByRole("dialog", { name: /^Retract/ });
    await dialog.getByRole("listitem").filter({ hasText: "coast/lunch" }).waitFor();
    await dialog.getByRole("textbox", { name: /^Reason/ }).fill("the tide is later");
    await dialog.getByRole("button", { name: "Retract", exact: true }).click();
    await page.getByText("Retracted 2 memories").waitFor();
    await page.getByLabel("The memory").getByText("retracted", { exact: true }).first().waitFor();
    for (const name of [uri, "coast/lunch"])
      expect(await client.memory.get(name)).toMatchObject({ state: "retracted", reason: expect.stringContaining("the tide is later") });
    expect(problems).toEqual([]);
  });

  test("remembers, rolls back, and hides what may not be done", async () => {
    await using project = await serveProject();
    const { client } = project;
    await using opened = await there.open(`${project.url}/#/memory`);
    const { page, problems } = opened;
    await page.getByRole("button", { name: "Remember…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Key" }).fill("harbour/flag");
    await dialog.getByRole("textbox", { name: "What is so" }).fill("The flag is red.");
    await dialog.getByRole("textbox", { name: /^Reason/ }).fill("seen today");
    await dialog.getByRole("button", { name: "Remember" }).click();
    await heading(page, "harbour/flag").waitFor();
    const { revision } = await client.memory.get("harbour/flag");
    await page.getByRole("button", { name: "Roll back…" }).click();
    await dialog.getByRole("textbox", { name: /^To a revision/ }).fill(String(revision - 1));
    await dialog.getByRole("listitem").filter({ hasText: "harbour/flag" }).waitFor();
    await dialog.getByRole("textbox", { name: /^Reason/ }).fill("not true");
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Rolled back 1 memory").waitFor();
    expect((await client.memory.get("harbour/flag")).state).toBe("retracted");
    await page.route("**/v1/info", async (route) => {
      const json = (await (await route.fetch()).json()) as { caller: { permissions: string[] } };
      json.caller.permissions = ["sessions:read", "memory:read"];
      await route.fulfill({ json });
    });
    await page.reload();
    await heading(page, "harbour/flag").waitFor();
    for (const name of ["Remember…", "Roll back…", "Retract…", "Forget…"]) expect(await page.getByRole("button", { name }).count()).toBe(0);
    expect(problems).toEqual([]);
  });
});

/** The same comparison with so many events: mostly equal ones, some changed, some on one side alone. */
function grown(diff: DiffResource, count: number): DiffResource {
  const found = diff.events.find(({ a }) => a !== undefined)?.a;
  if (found === undefined) throw new Error("There is nothing to compare.");
  const events = Array.from({ length: count }, (_, step): DiffResource["events"][number] => {
    const event = { ...found, step, line: `event ${step}` };
    if (step % 10 === 0) return { relation: "only", b: event };
    return step % 10 === 5 ? { relation: "changed", a: event, b: event } : { relation: "same", a: event, b: event };
  });
  return { ...diff, events };
}
