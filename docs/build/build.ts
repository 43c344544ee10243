/**
 * npm run docs: the references from the sources, the site by VitePress, llms.txt, and every link of it all looked at.
 *
 * tsx docs/build/build.ts [references]   with `references` only those are written, for `npm run dev --workspace docs`
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import config from "../.vitepress/config.ts";
import { writeApi } from "./api-pages.ts";
import { cliPage } from "./cli-page.ts";
import { errorPage } from "./error-page.ts";
import { httpPage, openApiDocument } from "./http-page.ts";
import { deadLinks } from "./links.ts";
import { writeLlms } from "./llms.ts";

const docs = fileURLToPath(new URL("../", import.meta.url));

await writeReferences();
if (process.argv[2] !== "references") await buildSite();

async function writeReferences(): Promise<void> {
  const reference = join(docs, "reference");
  await mkdir(join(docs, "public"), { recursive: true });
  await mkdir(reference, { recursive: true });
  const document = await openApiDocument();
  await writeFile(join(docs, "public/openapi.json"), `${JSON.stringify(document, undefined, 2)}\n`);
  await writeFile(join(reference, "http.md"), httpPage(document));
  await writeFile(join(reference, "cli.md"), await cliPage());
  await writeFile(join(reference, "errors.md"), errorPage());
  const doors = await writeApi(join(docs, ".."), join(reference, "api"));
  console.log(`references: command line, HTTP, errors, and the API of ${doors.length} doors`);
}

async function buildSite(): Promise<void> {
  await build(docs);
  const pages = await writeLlms(docs);
  console.log(`llms.txt names ${pages} pages`);
  const { links, dead } = await deadLinks(join(docs, "dist"), config.base);
  for (const { page, link, why } of dead) console.error(`${page}: ${link} ${why}`);
  console.log(`${links} links looked at, ${dead.length} dead`);
  if (dead.length > 0) process.exitCode = 1;
}
