/** The references hold everything there is: whatever is missing from them was not generated, and nobody would notice. */
import { expect, test } from "vitest";
import { cliPage } from "../../docs/build/cli-page.ts";
import { errorPage } from "../../docs/build/error-page.ts";
import { httpPage, openApiDocument } from "../../docs/build/http-page.ts";
import { statusOf } from "../../src/server/status.ts";

test("the reference of the command line has every command with its options, and none of what only Markdown understands", async () => {
  const page = await cliPage();
  for (const command of ["init", "run", "log", "fork", "verify", "keys create", "memory retract", "db migrate"])
    expect(page).toContain(`## openrath ${command} {#openrath-${command.replace(" ", "-")}}\n`);
  expect(page).toContain("<code v-pre>-l, --label &#60;label&#62;</code>");
  expect(page.split("## What every command takes")[0]).not.toContain("--jsonl");
  expect(page).toMatch(/\| 4 \| differs \|/);
});

test("the reference of HTTP has every call and every shape of the OpenAPI document", async () => {
  const document = await openApiDocument();
  const page = httpPage(document);
  const calls = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(calls.length).toBeGreaterThan(60);
  const missing = [
    ...calls.map(({ operationId }) => `{#call-${operationId.toLowerCase()}}`),
    ...Object.keys(document.components.schemas).map((name) => `{#shape-${name.toLowerCase()}}`),
  ].filter((anchor) => page.split(anchor).length !== 2);
  expect(missing).toEqual([]);
});

test("the reference of errors has a row for each code, with what to do next and its status", () => {
  const page = errorPage();
  const missing = Object.entries(statusOf).filter(
    ([code, status]) => !new RegExp(`<code v-pre>${code}</code> \\|[^|]{10,}\\|[^|]{10,}\\| ${status} \\|`).test(page),
  );
  expect(missing).toEqual([]);
});
