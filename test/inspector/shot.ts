/** node --import tsx test/inspector/shot.ts URL FILE.png [light|dark] [WIDTHxHEIGHT]: how a screen looks, and what went wrong on it. */
import { launch, open, type Theme } from "./browser.ts";

const [url = "", file = "shot.png", theme = "light", size = "1280x800"] = process.argv.slice(2);
const [width = 1280, height = 800] = size.split("x").map(Number);
const browser = await launch();
const { page, problems } = await open(browser, { theme: theme as Theme, width, height });
await page.goto(url);
await page.waitForLoadState("load");
await page.waitForTimeout(1500);
await page.screenshot({ path: file });
for (const problem of problems) console.log(problem);
await browser.close();
