/** How sessions and their calls stand, in the browser: told as it is, wherever somebody looks, and while it changes. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { Agent, type Model, type Session } from "../../src/index.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { inBrowser, noStage } from "./in-browser.ts";
import { serveProject } from "./project.ts";

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, no) => signal.addEventListener("abort", () => no(new Error("stopped")), { once: true }));

const workflows = {
  elsewhere: new Flow(async (session: Session) => {
    await session.fork("second").ask("May I?");
    return session;
  }, "elsewhere"),
  asker: new Flow((session: Session) => session.ask("May I, here?"), "asker"),
  endless: new Flow((session: Session) => session.do("watch", ({ signal }) => never(signal), { repeat: "safe" }), "endless"),
};

const rows = (page: Page): Locator => page.getByRole("grid").getByRole("row");
const soon = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 });

inBrowser("how things stand", noStage, (there) => {
  // Mutants: the filter asks a session's own line; a row that does not stand so any more stays.
  test("the list is filtered by what it shows, also of sessions whose runs wait on a fork, and while that changes", async () => {
    await using project = await serveProject({ workflows });
    const { rath, url } = project;
    const waits = await rath.run("elsewhere", rath.session("Hello", { title: "Asks on a branch" }));
    await waits.settle();
    await rath.run("endless", rath.session("Hello", { title: "Is queued" }), { queue: true });
    const runs = await rath.run("endless", rath.session("Hello", { title: "Goes on" }));
    await rath.save(rath.session("Hello", { title: "Is quiet" }));
    await using opened = await there.open(`${url}/#/sessions?status=waiting`);
    const { page, problems } = opened;
    const shown = async (): Promise<readonly string[]> =>
      (await rows(page).allTextContents())
        .slice(1)
        .map((text) => /^(\w+?)(Asks on a branch|Is queued|Goes on|Is quiet)/.exec(text)?.slice(1).join(" ") ?? text);
    const choose = (status: string): Promise<void> =>
      page.getByRole("group", { name: "Status" }).getByRole("button", { name: status }).click();
    await soon(shown).toEqual(["waiting Asks on a branch"]);
    for (const [status, title] of Object.entries({ idle: "Is quiet", queued: "Is queued", running: "Goes on" })) {
      await choose(status);
      await soon(shown).toEqual([`${status} ${title}`]);
    }
    await choose("waiting");
    await soon(shown).toEqual(["waiting Asks on a branch"]);
    const [question] = await rath.pending();
    await rath.decide(question?.id ?? "", { by: "ada", answer: "yes" });
    await waits.result();
    await page.getByText("No session is like that").waitFor();
    await choose("idle");
    // Whoever comes to stand so while one looks comes on top.
    await soon(async () => [...(await shown())].sort()).toEqual(["idle Asks on a branch", "idle Is quiet"]);
    await runs.cancel("enough", { by: "ada" });
    await runs.settle();
    expect(problems).toEqual([]);
  });

  // Mutant: what has no result is under way.
  test("a model call that nobody executes any more has no result, in the transcript and among the model calls", async () => {
    const gate = gateOf();
    const model: Model = {
      id: "slow/writer",
      free: true,
      async *stream() {
        yield { type: "text-delta", text: "The first" };
        await gate.promise;
        const usage = { input: 10, output: 8, cached: 0, cacheWrite: 0, reasoning: 0 };
        yield { type: "reply", reply: { parts: [{ type: "text", text: "The first." }], finish: "stop", usage } };
      },
    };
    const store = memoryStore();
    // Whoever executes the run believes to hold it: to all others its lease runs out, as if its process were cut off.
    const renewed: Store = { ...store, renew: async (lease) => lease };
    await using project = await serveProject({ store: renewed, workflows: { writer: new Agent({ name: "writer", model }) } });
    const { rath, url } = project;
    const begun = await rath.run("writer", await rath.save(rath.session("Tell me a story.")));
    await using opened = await there.open(`${url}/#/s/${begun.session}/call`);
    const { page, problems } = opened;
    const calls = page.getByRole("navigation", { name: "Model calls" });
    await calls.getByText("under way").waitFor();
    await calls.getByText("no result").waitFor();
    await page.locator("header").getByText("no result", { exact: true }).waitFor();
    await page.goto(`${url}/#/s/${begun.session}/transcript`);
    const items = page.getByRole("list", { name: "Conversation" });
    await items.getByText("no result", { exact: true }).waitFor();
    gate.resolve();
    await begun.result();
    await items.getByText("no result", { exact: true }).waitFor({ state: "detached" });
    expect(problems).toEqual([]);
  });

  test("an effect that somebody executes is under way, one that waits for an answer waits", async () => {
    await using project = await serveProject({ workflows });
    const { rath, url } = project;
    const asks = await rath.run("asker", rath.session("Hello"));
    await asks.settle();
    const runs = await rath.run("endless", rath.session("Hello"));
    await using opened = await there.open(`${url}/#/s/${asks.session}/transcript`);
    const { page, problems } = opened;
    const items = page.getByRole("list", { name: "Conversation" });
    await items.getByText("waiting", { exact: true }).waitFor();
    await page.goto(`${url}/#/s/${runs.session}/transcript`);
    await items.getByText("under way", { exact: true }).waitFor();
    await runs.cancel("enough", { by: "ada" });
    await runs.settle();
    expect(problems).toEqual([]);
  });

  // Mutants: what is known of a root is true as long as its own line has the same head; a branch made since is not looked for.
  test("what all branches of a root used is told while only forks of it go on", async () => {
    const usage = { input: 1000, output: 200, cached: 0, cacheWrite: 0, reasoning: 0 };
    const model: Model = {
      id: "some/model",
      free: true,
      async *stream() {
        yield { type: "reply", reply: { parts: [{ type: "text", text: "Yes." }], finish: "stop", usage } };
      },
    };
    await using project = await serveProject({ workflows: { writer: new Agent({ name: "writer", model }) } });
    const { rath, url } = project;
    const root = await rath.save(rath.session("Hello", { title: "The root" }));
    await using opened = await there.open(`${url}/#/sessions`);
    const { page, problems } = opened;
    const cells = async (): Promise<readonly string[]> =>
      (await rows(page).filter({ hasText: "The root" }).getByRole("gridcell").allTextContents()).slice(-5, -2);
    await soon(cells).toEqual(["1", "2", "0"]);
    const fork = await rath.save(root.fork("other").say("And?"));
    await soon(cells).toEqual(["2", "4", "0"]);
    await (await rath.run("writer", fork)).result();
    await soon(async () => (await cells())[2]).toBe("1 200");
    const [, events] = await cells();
    await rath.save((await rath.open(fork.id)).fork("twig").say("So?"));
    await soon(cells).toEqual(["3", String(Number(events) + 2), "1 200"]);
    expect((await rath.open(root.id)).head).toBe(root.head);
    expect(problems).toEqual([]);
  });
});

function gateOf() {
  let resolve = (): void => {};
  const promise = new Promise<void>((open) => {
    resolve = open;
  });
  return { promise, resolve };
}
