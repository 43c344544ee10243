/** Conversations in the browser: read, continued, forked, run again, and taken away as files. Everything against a real server. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { type Client, connect } from "../../src/client/client.ts";
import { Agent, type Model, openrath, verify } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { repository } from "../questions/story.ts";
import { Flow } from "../support/flow.ts";
import { inBrowser } from "./in-browser.ts";
import { serveProject } from "./project.ts";
import { buildStage } from "./stage.ts";

inBrowser("conversations in the inspector", buildStage, (there) => {
  let client: Client;
  let session = "";
  beforeAll(() => {
    client = connect({ url: there.stage.url });
    session = there.stage.session;
  });

  /** Shows a screen, and fails on anything that went wrong there. */
  async function shown(address: string, look: (page: Page) => Promise<void>): Promise<void> {
    await using opened = await there.open(`s/${address}`);
    await opened.page.getByText("live", { exact: true }).waitFor();
    await look(opened.page);
    expect(opened.problems).toEqual([]);
  }
  const branchOf = async (label: string): Promise<string> => {
    const { nodes } = await client.sessions.graph(session);
    return nodes.find((node) => node.label === label)?.id ?? "";
  };
  const events = async (id: string) => {
    const found = [];
    for await (const event of client.sessions.events(id)) found.push(event);
    return found;
  };

  /** The first event of a kind that says something. */
  const saying = async (id: string, kind: string, text: string): Promise<string> =>
    (await events(id)).find((event) => event.kind === kind && JSON.stringify(event.data).includes(text))?.id ?? "";
  const followed = "Is anything left to do?";

  test("a branch shows what it inherited, its tools with what they changed, and the work nested in them", async () => {
    const thorough = await branchOf("thorough");
    await shown(`${thorough}/transcript?at=${await saying(thorough, "tool.called", "edit_file")}`, async (page) => {
      const card = page.getByRole("article").filter({ hasText: "tool edit_file" }).first();
      await card.getByText("changed slugify.js").click();
      await card.getByText("NFC").last().waitFor();
      await page.keyboard.press("k");
      await page.keyboard.press("k");
      await page.getByText("Fix the cause.").waitFor();
      await page.goto(page.url().replace(/at=[0-9a-f]+/, "at=1"));
      await page.getByText("inherited from branch").waitFor();
      expect(await page.locator('li[data-origin="inherited"]').count()).toBeGreaterThan(3);
    });
    await shown(`${session}/transcript?at=${await saying(session, "tool.returned", "NFD splits letters")}`, async (page) => {
      const nested = page.getByRole("button", { name: /nested work of .*researcher/ });
      await nested.click();
      await page.getByText("NFD splits letters from their accents.").nth(1).waitFor();
    });
    await shown(`${session}/transcript?at=${await saying(session, "tool.returned", "it is only a preview")}`, async (page) => {
      await page.getByText("denied by human:bob: it is only a preview").waitFor();
    });
  });

  test("something is said, from the header", async () => {
    await shown(`${session}/transcript`, async (page) => {
      await page.keyboard.press("y");
      await page.getByLabel("Message of the user").fill("And the docs?");
      await page.keyboard.press("Control+Enter");
      await page.getByRole("article").filter({ hasText: "And the docs?" }).waitFor();
    });
    expect((await events(session)).at(-1)).toMatchObject({ kind: "message.added", by: "human:local" });
  });

  test("what is said from the header goes to the branch that is looked at", async () => {
    const { id: fork } = await client.sessions.fork(session, { label: "aside" });
    const last = (await events(session)).at(-1)?.id;
    await shown(`${session}/transcript?branch=${fork}`, async (page) => {
      await page.getByTitle(`To the branch ${fork.slice(0, 8)}`).click();
      await page.getByLabel("Message of the user").fill("Only here.");
      await page.keyboard.press("Control+Enter");
      await page.getByRole("article").filter({ hasText: "Only here." }).waitFor();
    });
    expect((await events(fork)).at(-1)).toMatchObject({ kind: "message.added", session: fork });
    expect((await events(session)).at(-1)?.id).toBe(last);
  });

  test("a fork is made at the chosen message, and shown", async () => {
    await shown(`${session}/transcript?at=${await saying(session, "message.added", followed)}`, async (page) => {
      await page.getByText("Is anything left to do?").first().waitFor();
      await page.keyboard.press("f");
      await page.getByLabel("Label").fill("another try");
      await page.getByRole("button", { name: "Fork", exact: true }).last().click();
      await page.waitForURL((url) => !url.hash.includes(session));
      await page.locator('li[aria-current="true"]').getByText('fork "another try"').waitFor();
      const fork = /#\/s\/([\w-]+)\//.exec(page.url())?.[1] ?? "";
      await page.getByRole("heading", { level: 1, name: "another try" }).waitFor();
      await page.getByText("fork of").waitFor();
      expect(await client.sessions.get(fork)).toMatchObject({ parent: session, lineage: { kind: "fork", label: "another try" } });
    });
  });

  test("a result is changed and run again on a fork, which is compared with the original", async () => {
    const result = (await events(session)).findLast(({ kind }) => kind === "tool.returned")?.id ?? "";
    await shown(`${session}/transcript?at=${result}`, async (page) => {
      await page.locator('li[aria-current="true"]').getByText("CHANGES.md").first().waitFor();
      await page.keyboard.press("r");
      const value = page.getByLabel("Result");
      await value.fill("{ no");
      await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).click();
      await page.getByText("The value is no JSON").waitFor();
      expect(await value.inputValue()).toBe("{ no");
      await value.fill('{ "stdout": "nothing was noted" }');
      await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).click();
      await page.getByRole("status").filter({ hasText: "done" }).waitFor();
      await page.getByRole("link", { name: "Compare with the original" }).click();
      await page.waitForURL((url) => url.hash.startsWith("#/diff"));
      const made = new URLSearchParams(page.url().split("?")[1]);
      expect(made.get("a")).toBe(session);
      const changed = (await events(made.get("b") ?? "")).filter(({ kind }) => kind === "tool.returned").at(-1);
      expect(changed?.data).toMatchObject({ value: { stdout: "nothing was noted" } });
    });
  });

  test("a message that began a run is edited and run again", async () => {
    await shown(`${session}/transcript?at=${await saying(session, "message.added", followed)}`, async (page) => {
      await page.getByRole("button", { name: "Rerun" }).first().waitFor();
      await page.locator('li[aria-current="true"]').getByRole("button", { name: "Rerun" }).click();
      const message = page.getByLabel("Message of the user");
      expect(await message.inputValue()).toBe("Is anything left to do?");
      expect(await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).isDisabled()).toBe(true);
      await message.fill("Is the note good?");
      await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).click();
      await page.getByRole("status").filter({ hasText: "done" }).waitFor();
      await page.getByRole("button", { name: "Go to the fork" }).click();
      await page.getByRole("article").filter({ hasText: "Is the note good?" }).first().waitFor();
      expect(await page.getByRole("article").filter({ hasText: "Is anything left to do?" }).count()).toBe(0);
    });
  });

  test("a rerun that waits for somebody on one of its branches says so, and goes on when it is answered", async () => {
    const asks = new Flow(async (at) => at.fork("question").ask("Which?"), "asks");
    await using project = await serveProject({ workflows: { asks } });
    const { rath, client: calls } = project;
    const answer = async (): Promise<void> => {
      await expect.poll(async () => (await rath.pending()).length).toBe(1);
      await rath.decide((await rath.pending())[0]?.id ?? "", { by: "human:ada", answer: "this" });
    };
    const run = await rath.run("asks", rath.session("Choose."));
    await answer();
    const done = await run.result();
    await using opened = await there.open(`${project.url}/#/s/${done.id}/transcript?at=${await firstSaid(calls, done.id)}`);
    const { page } = opened;
    await page.locator('li[aria-current="true"]').getByRole("button", { name: "Rerun" }).click();
    await page.getByLabel("Message of the user").fill("Choose again.");
    await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).click();
    await page.getByRole("status").filter({ hasText: "waiting" }).waitFor();
    await page.getByText("It waits for somebody.").waitFor();
    // And it is among what waits behind the session that the rerun works on, though on another branch.
    const [asked] = await rath.pending();
    const { session: worksOn } = await calls.runs.get(asked?.run ?? "");
    expect(worksOn).not.toBe(asked?.session);
    await using desk = await there.open(`${project.url}/#/approvals?session=${worksOn}`);
    await desk.page.getByText("Which?").first().waitFor();
    await answer();
    await page.getByRole("status").filter({ hasText: "done" }).waitFor();
    await page.getByRole("button", { name: "Go to the fork" }).click();
    await page.getByRole("article").filter({ hasText: "Choose again." }).waitFor();
    expect(opened.problems).toEqual([]);
  });

  test("a model call shows what it read and what was new; another model is asked on a fork", async () => {
    const [before, last] = (await events(session)).filter(({ kind }) => kind === "model.called").slice(-2);
    await shown(`${session}/call?at=${last?.id}`, async (page) => {
      await page.getByText("had 13 messages of these; 2 messages are new").waitFor();
      await page.getByText("13 earlier messages, as in the call before: show them").waitFor();
      await page.keyboard.press("[");
      await page.getByRole("heading", { name: "acme/fast" }).waitFor();
      await page.getByText(`step ${before?.step} ·`).waitFor();
      await page.keyboard.press("r");
      await page.getByLabel("Change", { exact: true }).selectOption("model");
      await page.getByLabel("Model", { exact: true }).fill("acme/deep");
      await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).click();
      await page.getByRole("link", { name: "Compare with the original" }).waitFor();
      await page
        .getByRole("status")
        .filter({ hasText: /done|failed/ })
        .waitFor();
      const href = (await page.getByRole("link", { name: "Compare with the original" }).getAttribute("href")) ?? "";
      const made = new URLSearchParams(href.split("?")[1]).get("b") ?? "";
      expect((await events(made)).filter(({ kind }) => kind === "model.called").at(-1)?.data).toMatchObject({ model: "acme/deep" });
    });
  });

  test("a replay says step by step that it is identical; a branch is rejected with a reason", async () => {
    const fork = await client.sessions.fork(session, { label: "unwanted" });
    await shown(`${fork.id}/transcript`, async (page) => {
      await page.getByRole("button", { name: "Replay…" }).click();
      await page.getByRole("button", { name: "Replay", exact: true }).click();
      await page.getByText("as recorded.").waitFor();
      expect(await page.getByLabel("Result of each step").getByText("identical").count()).toBeGreaterThan(5);
      await page.getByRole("button", { name: "Close" }).last().click();
      await page.getByRole("button", { name: "Reject…" }).click();
      await page.getByLabel("Reason").fill("not needed");
      await page.getByRole("button", { name: "Reject", exact: true }).click();
      await page.getByText("rejected: not needed").waitFor();
    });
    expect(await client.sessions.get(fork.id)).toMatchObject({ status: "rejected" });
  });

  test("a bundle, a dossier and a patch are taken away, and hold what they should", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openrath-convo-"));
    await shown(`${session}/raw`, async (page) => {
      const saved = async (click: () => Promise<void>): Promise<string> => {
        const [download] = await Promise.all([page.waitForEvent("download"), click()]);
        const path = join(folder, download.suggestedFilename());
        await download.saveAs(path);
        return path;
      };
      await page.getByRole("button", { name: "Export…" }).click();
      const bundle = await saved(() => page.getByRole("button", { name: "Export", exact: true }).click());
      await using elsewhere = openrath({ store: "memory" });
      const imported = await elsewhere.import(bundle);
      const { unknownKeys: keys } = await verify(imported);
      expect(await verify(imported, { keys })).toMatchObject({ ok: true, problems: [] });
      await page.getByRole("button", { name: "Dossier" }).click();
      await page.getByRole("button", { name: "Write it" }).click();
      const dossier = await saved(() =>
        page
          .getByRole("button", { name: /^Save .*\.html$/ })
          .first()
          .click(),
      );
      expect(await readFile(dossier, "utf8")).toContain("Slugs without accents");
      await page.keyboard.press("Escape");
      await page.keyboard.press("t");
      await page.getByRole("button", { name: "Patch…" }).click();
      await page.getByText("slugify.js").last().waitFor();
      const patch = await saved(() => page.getByRole("button", { name: "Save", exact: true }).click());
      for (const [path, text] of Object.entries(repository)) await writeFile(join(folder, path), text);
      await promisify(execFile)("git", ["apply", patch], { cwd: folder });
      expect(await readFile(join(folder, "slugify.js"), "utf8")).toContain("NFD");
    });
    await rm(folder, { recursive: true });
  });

  test("raw events are filtered by kind and by a text in them, in the address too", async () => {
    await shown(`${session}/raw?kind=tool.returned`, async (page) => {
      const rows = page.getByRole("list", { name: "Events" }).getByRole("button");
      await page.getByText(/^\d+ of [\d ]+ events$/).waitFor();
      for (const row of await rows.allInnerTexts()) expect(row).toContain("tool.returned");
      await page.keyboard.press("/");
      await page.keyboard.type("slugs: none");
      await page.waitForURL((url) => url.hash.includes("q=slugs"));
      await page.getByText(/^1 of /).waitFor();
      await rows.first().click();
      await page.getByRole("heading", { name: "tool.returned" }).waitFor();
      await page.getByText('"slugs: none"').waitFor();
      await page.reload();
      await page.getByText(/^1 of /).waitFor();
      await page.getByText('"slugs: none"').waitFor();
    });
  });

  test("a reply is shown as it is written, and nothing moves for whoever reads something else", async () => {
    const { gate, model } = slowWriter();
    await using project = await serveProject({ workflows: { writer: new Agent({ name: "writer", model }) } });
    const { rath, url } = project;
    let told = rath.session("Tell me a story.");
    for (let line = 1; line <= 60; line++) told = told.note(`line ${line}`);
    await rath.save(told);
    await using opened = await there.open(`${url}/#/s/${told.id}/transcript`);
    const { page } = opened;
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText("note: line 60").waitFor();
    const begun = await rath.run("writer", told);
    await page.getByText("The first half").waitFor();
    const scroller = page.getByRole("list", { name: "Conversation" }).locator("..");
    await scroller.evaluate((element) => element.scrollTo(0, 100));
    await page.getByText("note: line 5").first().waitFor();
    gate.open();
    await begun.result();
    await page.getByText("idle", { exact: true }).waitFor();
    // Rows that were measured since may have moved it by a few pixels, so that what is read stays where it was.
    expect(Math.abs((await scroller.evaluate((element) => element.scrollTop)) - 100)).toBeLessThan(30);
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText("The first half and the second.").waitFor();
    expect(opened.problems).toEqual([]);
  });

  test("a reply whose writer has fallen silent is not shown any more once nobody holds its run", async () => {
    const { gate, model } = slowWriter();
    const store = memoryStore();
    // Whoever executes the run believes to hold it: to all others its lease runs out, as if its process were cut off.
    const renewed: Store = { ...store, renew: async (lease) => lease };
    await using project = await serveProject({ store: renewed, workflows: { writer: new Agent({ name: "writer", model }) } });
    const told = await project.rath.save(project.rath.session("Tell me a story."));
    await using opened = await there.open(`${project.url}/#/s/${told.id}/transcript`);
    const { page } = opened;
    await page.getByText("live", { exact: true }).waitFor();
    const begun = await project.rath.run("writer", told);
    const written = page.getByText("The first half");
    await written.waitFor();
    const shownAt = Date.now();
    await written.waitFor({ state: "detached" });
    // It is asked about only after a silence: whoever thinks for a while is not forgotten.
    expect(Date.now() - shownAt).toBeGreaterThan(3000);
    await page.getByText("live", { exact: true }).waitFor();
    gate.open();
    await begun.result();
    await page.getByText("The first half and the second.").waitFor();
    expect(opened.problems).toEqual([]);
  });

  test("a reply that nobody writes on is not shown as if somebody did", async () => {
    const { gate, model } = slowWriter();
    await using project = await serveProject({ workflows: { writer: new Agent({ name: "writer", model }) } });
    const told = await project.rath.save(project.rath.session("Tell me a story."));
    await using opened = await there.open(`${project.url}/#/s/${told.id}/transcript`);
    await opened.page.getByText("live", { exact: true }).waitFor();
    const begun = await project.rath.run("writer", told);
    const written = opened.page.getByText("The first half");
    await written.waitFor();
    await project.kill();
    await written.waitFor({ state: "detached" });
    gate.open();
    await begun.result();
  });
});

/** What was said to a session first. */
async function firstSaid(client: Client, session: string): Promise<string> {
  for await (const { id, kind } of client.sessions.events(session)) if (kind === "message.added") return id;
  return "";
}

/** A model that stops in the middle of its reply. */
function slowWriter() {
  const gate = gateOf();
  const model: Model = {
    id: "slow/writer",
    free: true,
    async *stream() {
      yield { type: "text-delta", text: "The first half" };
      await gate.opened;
      const text = "The first half and the second.";
      const usage = { input: 10, output: 8, cached: 0, cacheWrite: 0, reasoning: 0 };
      yield { type: "reply", reply: { parts: [{ type: "text", text }], finish: "stop", usage } };
    },
  };
  return { gate, model };
}

function gateOf(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
