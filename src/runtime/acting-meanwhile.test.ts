/** What other calls change between the first look of a call and its turn. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { testRath } from "../testing/test-rath.ts";
import { editFile } from "../tool/builtin/edit-file.ts";
import { tool } from "../tool/tool.ts";

let repo: string;
beforeAll(async () => {
  repo = await mkdtemp(join(tmpdir(), "meanwhile-"));
  await mkdir(join(repo, "real"));
  await writeFile(join(repo, "real/a.txt"), "one\ntwo\nthree\n");
  await writeFile(join(repo, "real/b.txt"), "four\n");
  await symlink("real", join(repo, "alias"));
});
afterAll(() => rm(repo, { recursive: true, force: true }));

const edit = (path: string, find: string) => ({ tool: "edit_file", input: { path, find, replace: find.toUpperCase() } });

test("two edits of one file in a batch, one through a link: the second is refused, and nothing is lost", async () => {
  await using rath = testRath();
  const calls = [edit("real/a.txt", "one"), edit("alias/a.txt", "three")];
  const model = scripted({ calls }, { calls: [edit("alias/a.txt", "three")] }, "done");
  const done = await new Agent({ model, tools: [editFile] }).forward(rath.session("go").to("memory", { workspace: repo }));
  expect(done.calls.map(({ outcome }) => outcome?.type)).toEqual(["ok", "error", "ok"]);
  expect(done.calls[1]?.outcome).toMatchObject({ message: expect.stringContaining('"alias/a.txt" after this one had read it') });
  expect(await done.files.text("real/a.txt")).toBe("ONE\ntwo\nTHREE\n");
});

test("edits of different files in a batch are all made", async () => {
  await using rath = testRath();
  const model = scripted({ calls: [edit("real/a.txt", "one"), edit("alias/b.txt", "four")] }, "done");
  const done = await new Agent({ model, tools: [editFile] }).forward(rath.session("go").to("memory", { workspace: repo }));
  expect([await done.files.text("real/a.txt"), await done.files.text("real/b.txt")]).toEqual(["ONE\ntwo\nthree\n", "FOUR\n"]);
});

test("a file that was not there when it was asked for, and is by now, is not replaced", async () => {
  const create = tool({
    name: "create",
    description: "Creates a file that is not there.",
    input: { type: "object", properties: { path: { type: "string" } } },
    writes: "files",
    resource: (given) => (given as { readonly path: string }).path,
    run: async (given, { sandbox }) => {
      const { path } = given as { readonly path: string };
      const isThere = await sandbox.read(path).then(
        () => true,
        () => false,
      );
      if (!isThere) await sandbox.write(path, path);
    },
  });
  await using rath = testRath();
  const calls = ["real/new", "alias/new"].map((path) => ({ tool: "create", input: { path } }));
  const agent = new Agent({ model: scripted({ calls }, "done"), tools: [create] });
  const done = await agent.forward(rath.session("go").to("memory", { workspace: repo }));
  expect(done.calls.map(({ outcome }) => outcome?.type)).toEqual(["ok", "error"]);
  expect(await done.files.text("real/new")).toBe("real/new");
});

test("a call that may be tried again reads anew", async () => {
  const append = tool({
    name: "append",
    description: "Adds a line.",
    input: { type: "object", properties: { path: { type: "string" } } },
    writes: "files",
    repeat: "safe",
    retry: { attempts: 2 },
    resource: (given) => (given as { readonly path: string }).path,
    run: async (given, { sandbox }) => {
      const { path } = given as { readonly path: string };
      await sandbox.write(path, `${Buffer.from(await sandbox.read(path)).toString()}more\n`);
    },
  });
  await using rath = testRath();
  const calls = ["real/b.txt", "alias/b.txt"].map((path) => ({ tool: "append", input: { path } }));
  const agent = new Agent({ model: scripted({ calls }, "done"), tools: [append] });
  const done = await agent.forward(rath.session("go").to("memory", { workspace: repo }));
  expect(await done.files.text("real/b.txt")).toBe("four\nmore\nmore\n");
});
