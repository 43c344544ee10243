/** Looking at a screen as a reviewer does: it is there, nothing went wrong, nothing sticks out, and axe finds nothing serious. */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Screenshots of the last run, for whoever reviews them against docs/inspector-checklist.md. */
export const shots = fileURLToPath(new URL("shots/", import.meta.url));

/** Waits until nothing on the screen is still being read, and nothing changed for a moment. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => {
      const main = document.querySelector("#main");
      const reading = [...(main?.querySelectorAll("[role=status]") ?? [])].some((one) => /^Reading /.test(one.textContent ?? ""));
      const busy = main?.matches("[aria-busy=true]") || main?.querySelector("progress, [aria-busy=true]") != null;
      const shown = main === null || reading || busy ? "" : (main.textContent ?? "");
      const seen = window as unknown as { shown?: string };
      const same = shown !== "" && seen.shown === shown;
      seen.shown = shown;
      return same;
    },
    undefined,
    { polling: 120 },
  );
}

export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe calls serious or critical, in a line each: by all of its rules, or by these. */
export async function violations(page: Page, ...rules: readonly string[]): Promise<readonly string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (runOnly) => {
    const { axe: loaded } = window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } };
    return (await loaded.run(runOnly.length === 0 ? {} : { runOnly })).violations;
  }, rules);
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.split("\n")[1] ?? ""}`),
    );
}

/** How many elements the page has, and whether it is wider than the window. */
export function measured(page: Page): Promise<{ readonly elements: number; readonly sideways: number }> {
  return page.evaluate(() => ({
    elements: document.querySelectorAll("*").length,
    sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
}

/** Goes on with Tab so often, and tells which of the elements that got the focus did not show it. */
export async function unseenFocus(page: Page, times: number): Promise<readonly string[]> {
  // Looked at as it happens: asking after each key takes several times as long.
  await page.evaluate(() => {
    const seen = window as unknown as { wrong: Set<string> };
    seen.wrong = new Set();
    document.addEventListener("focusin", ({ target }) => {
      const element = target as Element;
      const { outlineStyle, boxShadow } = getComputedStyle(element);
      const { width, height } = element.getBoundingClientRect();
      const named = `${element.tagName} ${(element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 40)}`;
      if (outlineStyle === "none" && boxShadow === "none") seen.wrong.add(`${named}: no sign of the focus`);
      else if (width * height === 0) seen.wrong.add(`${named}: is not there`);
    });
  });
  for (let pressed = 0; pressed < times; pressed++) await page.keyboard.press("Tab");
  return page.evaluate(() => [...(window as unknown as { wrong: Set<string> }).wrong]);
}
