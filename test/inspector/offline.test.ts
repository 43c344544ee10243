/** `openrath inspect FILE`: an exported session in a browser, by the command a user types. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { write } from "../../src/audit/audit.ts";
import { openrath } from "../../src/openrath.ts";
import { builtCommand } from "../support/built.ts";
import { inBrowser, noStage } from "./in-browser.ts";
import { settled, shoot } from "./look.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-offline-"));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** The link that the command prints. */
async function inspect(what: string): Promise<{ readonly child: ChildProcess; readonly link: string }> {
  const child = spawn(process.execPath, [await builtCommand(), "inspect", what, "--no-open"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [printed] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
  return { child, link: String(printed).trim() };
}

inBrowser("an exported file", noStage, (there) => {
  test("is looked at without a project: every screen shows it, nothing can be changed, and the link counts once", async () => {
    const file = join(folder, "session.jsonl");
    {
      await using rath = openrath({ store: join(folder, "store.db") });
      const said = rath.session("Is anybody there?", { title: "From afar" }).say("Still?");
      const session = await rath.save(await said.remember({ key: "who", content: "Nobody was there." }));
      await write(session, file);
    }
    const { child, link } = await inspect(file);
    await using opened = await there.open(link);
    const { page, problems } = opened;
    await page.getByRole("heading", { name: "From afar" }).waitFor();
    // The code is gone from the address, and the place it led to is there.
    expect(page.url()).toMatch(/#\/s\/[0-9a-f-]+\/graph$/);
    for (const name of ["Transcript", "Raw", "Verify", "Graph"]) {
      await page.getByRole("navigation", { name: /Ways/ }).getByRole("link", { name }).click();
      await settled(page);
      // It is in no store: a command could not find it.
      if (name === "Verify") expect(await page.getByText("openrath verify").count()).toBe(0);
    }
    await page.getByText("Is anybody there?").first().waitFor();
    await shoot(page, "offline-graph");
    await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Memory" }).click();
    await page.getByText("Nobody was there.").first().waitFor();
    expect(await page.getByRole("button", { name: /^Say/ }).count()).toBe(0);
    expect(problems).toEqual([]);
    await using second = await there.open(link);
    await second.page.getByText(/does not let anybody in any more/).waitFor();
    await shoot(second.page, "key-needed");
    child.kill("SIGINT");
    const [code] = (await once(child, "exit")) as [number | null];
    expect(code).toBe(0);
  });
});
