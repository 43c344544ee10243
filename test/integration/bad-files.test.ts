/** Misspelt options of placements, merges and `apply`: refused by name, before anything is written. */
import { mkdtemp, readFile, rm, writeFile as writeHostFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ApplyOptions, MergeOptions, PlacementSpec } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { writeFile } from "../../src/tool/builtin/tools.ts";

let repo: string;
beforeAll(async () => {
  repo = await mkdtemp(join(tmpdir(), "rath-bad-files-"));
  await writeHostFile(join(repo, "a"), "1\n");
});
afterAll(() => rm(repo, { recursive: true, force: true }));

describe("to", () => {
  test.each([
    [{ workspace: "" }, /^placement\.workspace is empty/],
    [{ network: "some" }, /^placement\.network is "some"/],
    [{ env: { A: 1 } }, /^placement\.env\.A is 1: give a string, or true/],
    [{ limits: { memory: "lots" } }, /^"lots" is not a size/],
    [{ limits: { procs: 1 } }, /^placement\.limits\.procs is not known/],
  ])("refuses %j", async (spec, message) => {
    await using rath = testRath();
    expect(() => rath.session("x").to("memory", spec as PlacementSpec)).toThrow(
      expect.objectContaining({ code: "value.unsupported", message: expect.stringMatching(message) }),
    );
  });
});

describe("apply", () => {
  test("refuses options it does not know, and writes nothing", async () => {
    await using rath = testRath();
    const written = await rath.session("x").to("memory", { workspace: repo }).call(writeFile, { path: "a", content: "2\n" });
    const refused = async (options: object, message: string): Promise<void> =>
      expect(await written.apply(repo, options as ApplyOptions).catch((error: unknown) => error)).toMatchObject({
        code: "value.unsupported",
        message: expect.stringContaining(message),
      });
    await refused({ dryrun: true }, "apply.dryrun is not known: use one of dryRun, paths");
    await refused({ dryRun: "yes" }, "apply.dryRun is a string");
    await refused({ paths: "a" }, "apply.paths is a string");
    await expect(written.apply(repo, { paths: ["../a"] })).rejects.toMatchObject({ code: "sandbox.outside" });
    expect(await readFile(join(repo, "a"), "utf8")).toBe("1\n");
    expect(await written.apply(repo, { dryRun: true, paths: ["/workspace/a"] })).toMatchObject([{ path: "a" }]);
  });
});

describe("merge", () => {
  test("refuses options it does not know, and choices that are none, and the branch can still be merged", async () => {
    await using rath = testRath();
    const base = await rath.session("x").to("memory", { workspace: repo }).call(writeFile, { path: "b", content: "b\n" });
    const ours = await base.fork("ours").call(writeFile, { path: "a", content: "ours\n" });
    const theirs = await base.fork("theirs").call(writeFile, { path: "a", content: "theirs\n" });
    const refused = async (options: object, message: string): Promise<void> =>
      expect(await ours.merge(theirs, options as MergeOptions).catch((error: unknown) => error)).toMatchObject({
        code: "value.unsupported",
        message: expect.stringContaining(message),
      });
    await refused({ conflict: "ours" }, "merge.conflict is not known: use one of conflicts, context, reason");
    await refused({ conflicts: "their" }, 'merge.conflicts is "their": give "ours", "theirs", "ask", a function or a workflow');
    await refused({ context: "everything" }, 'merge.context is "everything"');
    await refused({ conflicts: async () => "ours" }, "conflicts gave a promise for a");
    await refused({ conflicts: () => undefined }, "conflicts gave undefined for a");
    await expect(ours.merge(theirs)).rejects.toMatchObject({ message: expect.stringMatching(/^1 file was changed on both sides/) });
    expect(await (await ours.merge(theirs, { conflicts: () => "theirs" })).files.text("a")).toBe("theirs\n");
  });
});
