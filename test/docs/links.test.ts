import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { deadLinks } from "../../docs/build/links.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function site(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-links-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

test("links to pages, anchors, files and other hosts are taken", async () => {
  const folder = await site({
    "index.html": '<h1 id="top">x</h1><a href="#top"></a><a href="/guides/a.html#deep"></a><a href="./guides/"></a><img src="/x.png">',
    "guides/a.html": '<h2 id="deep">x</h2><a class="b" href="../index.html"></a><a href="https://example.com"></a>',
    "guides/index.html": '<a href="a"></a>',
    "x.png": "",
  });
  expect(await deadLinks(folder)).toEqual({ links: 7, dead: [] });
});

test("a page, an anchor or a picture that is not there is named, and so is what is loaded from elsewhere", async () => {
  const folder = await site({
    "index.html": '<a href="/gone.html"></a><a href="/a.html#gone"></a><img src="/gone.png"><script src="https://cdn.test/x.js"></script>',
    "a.html": '<h2 id="there">x</h2>',
  });
  expect((await deadLinks(folder)).dead).toEqual([
    { page: "index.html", link: "/gone.html", why: "leads nowhere" },
    { page: "index.html", link: "/a.html#gone", why: "has no such anchor in a.html" },
    { page: "index.html", link: "/gone.png", why: "leads nowhere" },
    { page: "index.html", link: "https://cdn.test/x.js", why: "is loaded from elsewhere" },
  ]);
});
