/** What models, tools and strangers write is text, whatever it looks like, and freezes nothing. */
import { expect, test } from "vitest";
import { inBrowser, noStage } from "./in-browser.ts";
import { measured, settled, shoot } from "./look.ts";
import { serveProject } from "./project.ts";

const esc = "\u001b";
const hostile: Readonly<Record<string, string>> = {
  html: `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><style>*{display:none}</style></div></main>`,
  link: `javascript:window.hacked=1 [x](javascript:window.hacked=1) <a href="javascript:window.hacked=1">x</a>`,
  ansi: `${esc}[31mred${esc}[0m ${esc}]8;;http://evil.test${"\u0007"}link${esc}]8;;${"\u0007"} \u0000\u0008`,
  bidi: "safe \u202eevil\u202c \u2066x\u2069 \u200f\u200e\ufeff مرحبا",
  line: "x".repeat(10_000_000),
  table: `|${"a|".repeat(20_000)}\n|${"-|".repeat(20_000)}\n|${"b|".repeat(20_000)}`,
  halves: "\ud800 alone \udfff broken",
  deep: JSON.stringify(Array.from({ length: 2000 }).reduce<unknown>((inner) => [inner], "deep")),
  zalgo: "a\u0300\u0301\u0302".repeat(5000),
};

inBrowser("hostile content", noStage, (there) => {
  test("is shown as text on every screen, and none is frozen by it", async () => {
    await using project = await serveProject();
    const { rath, url } = project;
    let session = rath.session("begin", { title: hostile["html"]?.slice(0, 190), tags: ["<b>tag</b>", "\u202etag"] });
    for (const text of Object.values(hostile)) {
      session = session.say(text).note(text);
      session = await session.do(`do ${text.slice(0, 60)}`, () => text.slice(0, 2_000_000));
    }
    session = await session.remember({ key: "hostile/html", content: hostile["html"] ?? "" });
    session = session.fork(hostile["html"]?.slice(0, 150) ?? "").say("on a branch");
    await rath.save(session);
    await using opened = await there.open();
    const { page, problems } = opened;
    const wrong: string[] = [];
    const screens = ["graph", "transcript", "timeline", "scrubber", "call", "files", "verify", "raw"];
    const addresses = [...screens.map((name) => `#/s/${session.id}/${name}`), "#/sessions", "#/memory", "#/runs", "#/approvals"];
    for (const address of addresses) {
      await page.goto("about:blank");
      const began = performance.now();
      await page.goto(`${url}/${address}`);
      await settled(page);
      // A page that is frozen does not answer.
      await page.keyboard.press("j");
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
      const ms = performance.now() - began;
      const { elements, sideways } = await measured(page);
      if (ms > 15_000) wrong.push(`${address}: ${ms.toFixed(0)} ms`);
      if (elements > 2000 || sideways > 0) wrong.push(`${address}: ${elements} elements, ${sideways} pixels too wide`);
      if (await page.evaluate(() => "hacked" in window)) wrong.push(`${address}: it ran`);
      await shoot(page, `hostile-${address.replaceAll(/.*\//g, "")}`);
    }
    for (const problem of problems) if (!/status of 404/.test(problem)) wrong.push(problem);
    expect(wrong).toEqual([]);
  }, 240_000);
});
