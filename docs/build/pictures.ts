/**
 * npm run docs:pictures: takes the pictures of the site and of the README, in both themes, with Chromium. They are checked in: take them again
 * when the inspector or what a command prints has changed, and look at them.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { projectOf } from "../../src/cli/project.ts";
import { openrath } from "../../src/index.ts";
import { createServer } from "../../src/server/server.ts";
import type { Typed } from "../../test/docs/typed.ts";
import { call } from "../../test/golden-cli/world.ts";
import { launch } from "../../test/inspector/browser.ts";
import { buildStage } from "../../test/inspector/stage.ts";
import { servedHttp } from "../../test/support/served-http.ts";
import { smallPng } from "./small-png.ts";
import { terminalPage } from "./terminal-page.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = join(root, "docs/public/pictures");
const largest = 200_000;

async function inBothThemes(browser: Browser, name: string, take: (page: Page, theme: "light" | "dark") => Promise<Buffer>) {
  for (const theme of ["light", "dark"] as const) {
    const context = await browser.newContext({
      ...{ colorScheme: theme, viewport: { width: 1200, height: 720 }, deviceScaleFactor: 1.5, reducedMotion: "reduce" },
    });
    const path = join(folder, `${name}${theme === "dark" ? "-dark" : ""}.png`);
    const picture = smallPng(await take(await context.newPage(), theme));
    await context.close();
    await writeFile(path, picture);
    console.log(`${path.slice(root.length)} ${Math.round(picture.length / 1000)} kB`);
    if (picture.length > largest) throw new Error(`${path} is larger than ${largest} bytes: show less of it.`);
  }
}

function terminal(browser: Browser, name: string, title: string, text: string): Promise<void> {
  return inBothThemes(browser, name, async (page, theme) => {
    await page.setContent(terminalPage(text.trimEnd(), title, theme));
    return page.locator(".window").screenshot();
  });
}

function inspector(browser: Browser, name: string, url: string, { height, down = 0 }: { readonly height: number; readonly down?: number }) {
  return inBothThemes(browser, name, async (page) => {
    await page.setViewportSize({ width: 1200, height });
    await page.goto(url);
    await page.getByRole("main").waitFor();
    await page.waitForTimeout(2500);
    await page.mouse.move(500, 500);
    await page.mouse.wheel(0, down);
    // Nothing lies under the pointer, so that no line is picked out.
    await page.mouse.move(700, 10);
    await page.waitForTimeout(1000);
    return page.screenshot();
  });
}

/** The rich session of the questions: what the README shows. */
async function front(browser: Browser): Promise<void> {
  await using stage = await buildStage();
  const { session } = stage.rich;
  await inspector(browser, "inspector", `${stage.url}/#/s/${session.id}/graph`, { height: 760, down: 700 });
  const argv = ["log", session.id, "--graph"];
  const shown = await call(() => projectOf(stage.rich.open(), undefined), argv, { terminal: true, columns: 112, env: { LANG: "C.UTF-8" } });
  // As much as a window holds: its end.
  const lines = shown.both.trimEnd().split("\n").slice(-40);
  await terminal(browser, "terminal", `openrath ${argv.join(" ")}`, lines.join("\n"));
}

/** What a reader of the tutorial has made when it comes to the inspector. */
async function tutorial(browser: Browser): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "openrath-pictures-"));
  try {
    await typed(place, [["init", "agents"]]);
    const project = join(place, "agents");
    await symlink(join(root, "node_modules"), join(project, "node_modules"));
    const [first, second] = ["to be or not to be", "the rest is silence"].map((text) => `How many words are in: ${text}`) as [
      string,
      string,
    ];
    const results = await typed(project, [
      ...[
        ["run", "assistant", "--input", first],
        ["fork", "ID@2", "--label", "again"],
      ],
      ...[
        ["run", "assistant", "--session", "FORK", "--input", second],
        ["log", "ID", "--graph"],
      ],
      ["rerun", "ID"],
    ]);
    const log = results.find(({ argv }) => argv[0] === "log");
    await terminal(browser, "tutorial-log", `openrath ${log?.argv.join(" ")}`, log?.text ?? "");
    await using rath = openrath({ store: join(project, ".openrath/store.db") });
    const server = createServer(rath, { auth: "none-on-loopback" });
    await using http = await servedHttp(server);
    const session = await rath.open(log?.names["ID"] ?? "");
    await inspector(browser, "tutorial-inspector", `${http.url}/#/s/${session.id}/graph`, { height: 640 });
    await server.close();
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function typed(cwd: string, commands: readonly (readonly string[])[]): Promise<readonly Typed[]> {
  const program = [join(root, "test/docs/typed.ts"), JSON.stringify(commands)];
  const { NO_COLOR: _, ...inherited } = process.env;
  const env = { ...inherited, TSX_TSCONFIG_PATH: join(root, "tsconfig.json"), LANG: "C.UTF-8", TERM: "xterm-256color" };
  const tsx = join(root, "node_modules/tsx/dist/loader.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", tsx, ...program], { cwd, env });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Typed);
}

await mkdir(folder, { recursive: true });
await readFile(join(root, "dist/inspector/index.html")).catch(() => {
  throw new Error("There is no inspector to show: npm run build first.");
});
const browser = await launch();
try {
  await tutorial(browser);
  await front(browser);
} finally {
  await browser.close();
}
