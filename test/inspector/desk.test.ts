/** The screens of a whole project in a real browser: sessions, what waits for people, runs, and the palette. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { connect } from "../../src/client/client.ts";
import { createServer } from "../../src/server/server.ts";
import { servedHttp } from "../support/served-http.ts";
import { inBrowser } from "./in-browser.ts";
import { buildStage } from "./stage.ts";

inBrowser("the screens of a project", buildStage, (there) => {
  const client = () => connect({ url: there.stage.url });
  const rows = (page: Page) => page.getByRole("grid").getByRole("row");

  test("sessions are filtered by the address, opened by keys, and new ones come by themselves", async () => {
    await using shown = await there.open("sessions?status=failed");
    const { page, problems } = shown;
    await soon(() => rows(page).allTextContents()).toHaveLength(2);
    expect(await rows(page).nth(1).textContent()).toContain("Build the search index");
    await page.getByRole("button", { name: "all", exact: true }).click();
    await soon(() => rows(page).count()).toBeGreaterThan(10);
    expect(page.url()).not.toContain("status");

    await page.getByRole("columnheader", { name: "Cost" }).getByRole("button").click();
    await soon(async () => rows(page).nth(1).textContent()).toContain("Slugs without accents");
    expect(page.url()).toContain("order=cost");
    await page.keyboard.press("o");
    await soon(() => page.url()).not.toContain("order");
    await soon(async () => rows(page).nth(1).textContent()).not.toContain("Slugs without accents");

    await client().sessions.create({ title: "Made meanwhile", message: "hello" });
    await soon(async () => rows(page).nth(1).textContent()).toContain("Made meanwhile");

    await page.keyboard.press("/");
    await page.keyboard.type("accents");
    await soon(() => rows(page).count()).toBe(2);
    expect(page.url()).toContain("title=accents");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await soon(() => page.url()).toContain(`/s/${there.stage.session}`);
    expect(problems).toEqual([]);
  });

  test("a session is running or waiting as its run is, wherever that waits, in the list and in its header", async () => {
    const { endless } = there.stage.desk.runs;
    const at = async (run: string): Promise<string> => (await client().runs.get(run)).session;
    const elsewhere = await client().runs.start({ workflow: "elsewhere", message: "Ask on a branch" });
    await soon(async () => (await client().runs.get(elsewhere.id)).status).toBe("waiting");
    expect(await client().sessions.get(elsewhere.session)).toMatchObject({ status: "idle", waiting: 0 });
    await using shown = await there.open("sessions");
    const { page, problems } = shown;
    const row = rows(page).filter({ hasText: "Ask on a branch" });
    await soon(() => row.textContent()).toMatch(/^waiting/);
    await row.getByRole("link", { name: "open", exact: true }).click();
    await page.getByRole("heading", { name: "May I, on a branch?" }).waitFor();
    const header = page
      .getByRole("banner")
      .or(page.locator("header"))
      .filter({ has: page.getByRole("heading", { level: 1 }) });
    await page.goto(there.at(`s/${elsewhere.session}/graph`));
    await soon(() => header.getByText("waiting", { exact: true }).count()).toBe(1);
    await page.goto(there.at(`s/${await at(endless)}/graph`));
    await soon(() => header.getByText("running", { exact: true }).count()).toBe(1);
    const [asked] = (await client().pending.list({ session: elsewhere.session }).page()).items;
    await there.stage.rich.rath.decide(asked?.id ?? "", { by: "human:bob", answer: "yes" });
    await soon(async () => (await client().runs.get(elsewhere.id)).status).toBe("done");
    await page.goto(there.at(`s/${elsewhere.session}/graph`));
    await soon(() => header.getByText("idle", { exact: true }).count()).toBe(1);
    expect(problems).toEqual([]);
  });

  test("what a call would change is not told before its directory was read, and nothing is asked that is not there", async () => {
    const rath = there.stage.rich.open();
    const server = createServer(rath, { auth: "none-on-loopback" });
    const http = await servedHttp(server);
    try {
      await using shown = await there.open(`${http.url}/#/approvals?pending=${there.stage.desk.waiting.edit}`);
      const { page, problems } = shown;
      await soon(() => page.getByRole("region", { name: "What it would change" }).textContent()).toContain("cannot be told");
      expect(problems).toEqual([]);
    } finally {
      await server.close();
      await http[Symbol.asyncDispose]();
      await rath.close();
    }
  });

  test("what waits is approved, denied with a reason and approved with another input by keys alone, and the server knows who", async () => {
    await using shown = await there.open("approvals?kind=approval");
    const { page, problems } = shown;
    const { edit, pay, payToo } = there.stage.desk.waiting;
    const title = page.getByRole("article").getByRole("heading", { level: 2 });
    const items = page.getByRole("list", { name: "Waits for a decision" }).getByRole("button");
    await soon(() => title.textContent()).toBe("edit_file");
    await soon(() => page.getByRole("region", { name: "What it would change" }).textContent()).toContain("added: export const slugify");
    await page.keyboard.press("j");
    await soon(() => title.textContent()).toBe("pay");
    await soon(() => page.getByRole("region", { name: "Risk" }).textContent()).toContain("high");

    await page.keyboard.press("d");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("we paid that in May");
    await page.keyboard.press("Enter");
    await soon(() => items.count()).toBe(2);
    expect(await client().pending.decision(pay)).toMatchObject({ approve: false, reason: "we paid that in May", by: "human:local" });

    await page.getByRole("button", { name: "Edit…" }).waitFor();
    await page.keyboard.press("e");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type('{ "to": "Acme Ltd", "amount": "much" }');
    await page.getByRole("button", { name: "Approve this input" }).focus();
    await page.keyboard.press("Enter");
    await soon(() => page.getByRole("dialog").getByRole("alert").textContent()).toContain("does not fit");
    await page.getByRole("textbox", { name: "Input", exact: true }).focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type('{ "to": "Acme Ltd", "amount": 100 }');
    await page.getByRole("button", { name: "Approve this input" }).focus();
    await page.keyboard.press("Enter");
    await soon(() => items.count()).toBe(1);
    expect(await client().pending.decision(payToo)).toMatchObject({ approve: true, input: { amount: 100 }, by: "human:local" });

    await soon(() => title.textContent()).toBe("edit_file");
    await page.getByRole("button", { name: "Approve a" }).waitFor();
    await page.keyboard.press("a");
    await page.getByText("Nothing needs you").waitFor();
    const { session } = (await client().pending.decision(edit)).pending;
    await soon(async () => (await client().sessions.file(session, { path: "slugify.js" })).text()).toContain("\\s+");

    await page.getByRole("button", { name: "decided" }).click();
    const decided = page.getByRole("listitem").filter({ hasText: "human:local" });
    await soon(() => decided.count()).toBe(3);
    expect(await decided.nth(2).textContent()).toContain("we paid that in May");
    // Browsers tell of every refusal: that of the input that does not fit.
    expect(problems).toEqual([expect.stringContaining("422")]);
  });

  test("a question is answered with its form, an unknown effect gets its outcome, and what others decided is gone with a word", async () => {
    const { survey, charge } = there.stage.desk.waiting;
    await using shown = await there.open(`approvals?pending=${survey}`, { width: 390, height: 844 });
    const { page, problems } = shown;
    await page.getByLabel("copies").fill("2");
    await page.getByLabel("friday").check();
    await page.getByLabel("yes").check();
    await soon(() => sideways(page)).toBe(0);
    await page.getByRole("button", { name: "Answer" }).click();
    await soon(async () => (await client().pending.decision(survey)).answer).toEqual({ copies: 2, day: "friday", send: true });

    await page.getByRole("button", { name: /charge/ }).click();
    await page.getByLabel(/It happened/).check();
    await page.getByLabel(/Its result/).fill('{ "receipt": 7 }');
    await page.getByLabel(/How you know/).fill("the bank says so");
    await soon(() => sideways(page)).toBe(0);
    await page.getByRole("button", { name: "Say so" }).click();
    await soon(() => client().pending.decision(charge)).toMatchObject({
      outcome: { type: "ok", value: { receipt: 7 } },
      reason: "the bank says so",
      by: "human:local",
    });
    await soon(async () => (await client().runs.list({ workflow: "charger" }).page()).items[0]?.status).toBe("done");

    const asked = page.getByRole("button", { name: /May I\?/ });
    await client().runs.start({ workflow: "asker", message: "ask" });
    await asked.waitFor();
    const { items } = await client().pending.list({ kind: "question" }).page();
    await there.stage.rich.rath.decide(items[0]?.id ?? "", { by: "human:bob", answer: "no" });
    await page.getByText("May I?: no by human:bob").waitFor();
    expect(await asked.count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test("what somebody else decided gives way to nothing else by itself: no key decides another one", async () => {
    for (const message of ["one", "two"]) await client().runs.start({ workflow: "asker", message });
    await soon(async () => (await client().pending.list({ kind: "question" }).page()).items).toHaveLength(2);
    await using shown = await there.open("approvals?kind=question");
    const { page, problems } = shown;
    const title = page.getByRole("article").getByRole("heading", { level: 2 });
    await soon(() => title.textContent()).toBe("May I?");
    const { items } = await client().pending.list({ kind: "question" }).page();
    const bySince = items.toSorted((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : a.id < b.id ? -1 : 1));
    const decide = (place: number) => there.stage.rich.rath.decide(bySince[place]?.id ?? "", { by: "human:bob", answer: "no" });
    await decide(0);
    await page.getByText("It waits no longer").waitFor();
    expect(await title.count()).toBe(0);
    await page.getByRole("button", { name: "To what waits next" }).click();
    await soon(() => title.textContent()).toBe("May I?");
    await decide(1);
    await page.getByText("Nothing needs you").waitFor();
    expect(problems).toEqual([]);
  });

  test("a phone shows approvals, sessions and runs no wider than itself, and its buttons are as large as a thumb", async () => {
    const message = Array.from({ length: 60 }, (_, line) => `line ${line + 1} of the note`).join("\n");
    const run = await client().runs.start({ workflow: "payer", message });
    await using shown = await there.open("approvals", { width: 390, height: 844 });
    const { page, problems } = shown;
    await page.getByRole("button", { name: /pay/ }).first().click();
    const approve = page.getByRole("button", { name: "Approve" });
    await approve.waitFor();
    const box = await approve.boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(44);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
    await soon(() => sideways(page)).toBe(0);
    // Whoever says yes has all of the input in one page: nothing of it scrolls by itself.
    const input = page.getByRole("region", { name: "Input" });
    await input.locator("dd").getByText("line 60 of the note").waitFor();
    const hidden = await input.locator("dd").evaluateAll((fields) => fields.map((one) => one.scrollHeight - one.clientHeight));
    expect(hidden).toEqual([0, 0, 0]);
    for (const path of ["sessions", "runs"]) {
      await page.goto(there.at(path));
      await page.getByRole("heading", { level: 1, name: path === "runs" ? "Runs" : "Sessions" }).waitFor();
      await soon(() => rows(page).count()).toBeGreaterThan(5);
      await soon(async () => [path, await sideways(page)]).toEqual([path, 0]);
    }
    await client().runs.cancel(run.id);
    expect(problems).toEqual([]);
  });

  test("a run that goes on for ever is cancelled with a reason, a signal reaches the one that waits for it", async () => {
    const { endless, build } = there.stage.desk.runs;
    await using shown = await there.open("runs?status=running");
    const { page, problems } = shown;
    await soon(() => rows(page).allTextContents()).toHaveLength(2);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const pane = page.getByRole("complementary", { name: "The run" });
    await pane.getByText("Somebody executes it now.").waitFor();
    await page.keyboard.press("x");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("it never ends");
    await page.keyboard.press("Enter");
    await pane.getByText(/It was cancelled/).waitFor();
    expect(await client().runs.get(endless)).toMatchObject({ status: "cancelled", cancel: { by: "human:local", reason: "it never ends" } });

    await page.goto(there.at(`runs?run=${build}`));
    await pane.getByRole("button", { name: /Signal/ }).click();
    expect(await page.getByRole("textbox", { name: "Signal" }).inputValue()).toBe("ci");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await pane.getByText(/It is done/).waitFor();
    expect(problems).toEqual([]);
  });

  test("a run that waits is resumed, and the next worker takes it up; Escape asks before it throws away what was typed", async () => {
    const { nap } = there.stage.desk.runs;
    const taken = async (): Promise<number> => (await client().runs.get(nap)).takenUp.length;
    const before = await taken();
    await using shown = await there.open(`runs?run=${nap}`);
    const { page, problems } = shown;
    const pane = page.getByRole("complementary", { name: "The run" });
    await pane.getByText(/It waits, and nobody executes it/).waitFor();
    await page.keyboard.press("x");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.type("not needed");
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Keep typing" }).click();
    await page.keyboard.type(" any");
    await page.keyboard.press("Escape");
    await dialog.getByRole("textbox").click();
    await page.keyboard.press("End");
    await page.keyboard.type(" more");
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Keep typing" }).waitFor();
    expect(await dialog.getByRole("textbox").inputValue()).toBe("not needed any more");
    await dialog.getByRole("button", { name: "Discard" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await client().runs.get(nap)).status).toBe("waiting");

    await page.keyboard.press("r");
    await dialog.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByText("It goes on with the next worker").waitFor();
    await soon(taken).toBe(before + 1);
    await soon(async () => (await client().runs.get(nap)).status).toBe("waiting");
    expect(problems).toEqual([]);
  });

  test("the palette finds a session and an action, and help tells the keys of the screen", async () => {
    await using shown = await there.open("sessions");
    const { page, problems } = shown;
    await soon(() => rows(page).count()).toBeGreaterThan(5);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.type("without accents");
    await soon(() => page.getByRole("dialog").getByRole("option").allTextContents()).toHaveLength(1);
    await page.keyboard.press("Enter");
    await soon(() => page.url()).toContain(`/s/${there.stage.session}`);

    await page.goto(there.at("sessions"));
    await soon(() => rows(page).count()).toBeGreaterThan(5);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.type("start a session");
    await soon(() => page.getByRole("dialog").getByRole("option").count()).toBe(1);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Start", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    const here = page.getByRole("dialog").locator("section").filter({ hasText: "On this screen" });
    await soon(() => here.textContent()).toContain("filter by title");
    expect(problems).toEqual([]);
  });

  test("a run is started from the sessions", async () => {
    await using shown = await there.open("sessions");
    const { page, problems } = shown;
    await page.getByRole("button", { name: "Start…" }).click();
    await page.getByLabel("Workflow").selectOption("echo");
    await page.getByLabel("Message").fill("say it again");
    await page.getByRole("dialog").getByLabel(/Title/).fill("An echo");
    await page.getByRole("button", { name: "Start the run" }).click();
    await soon(() => page.url()).toContain("/transcript");
    const session = /\/s\/([0-9a-f-]+)\//.exec(page.url())?.[1] ?? "";
    expect(await client().sessions.get(session)).toMatchObject({ title: "An echo" });
    await soon(async () => (await client().runs.list({ session }).page()).items[0]?.status).toBe("done");
    expect(problems).toEqual([]);
  });
});

/** Looks until it is so: machines are busy at times. */
const soon = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 });

/** How much of the page is beside the screen. */
function sideways(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    const grids = [...document.querySelectorAll("[role=grid], dialog, article")].map((one) => one.scrollWidth - one.clientWidth);
    return Math.max(document.documentElement.scrollWidth - window.innerWidth, ...grids, 0);
  })()`);
}
