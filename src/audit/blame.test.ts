import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { blame } from "./blame.ts";

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: async ({ path, text }, { sandbox }) => sandbox.write(path, text),
});

/** Which call wrote each line, by its number among the calls of the session; "-" for what was there before. */
async function written(session: Session, path: string): Promise<string> {
  const calls = new Map(session.calls.map((call, index) => [call.id, String(index + 1)]));
  const lines = await blame(session, path);
  return lines.map(({ event, call }) => (event.kind === "placement.changed" ? "-" : (calls.get(call ?? "") ?? "?"))).join("");
}

describe("blame", () => {
  test("names the call that wrote each line, across steps, forks and merges", async () => {
    const directory = await mkdtemp(join(tmpdir(), "blame-"));
    await writeFile(join(directory, "a"), "1\n2\n3\n4\n5\n6\n");
    await using rath = testRath();
    const placed = rath.session("x").to("memory", { workspace: directory });
    const first = await placed.fork("first").call(put, { path: "a", text: "1\ntwo\n3\n4\n5\n6\n" });
    expect(await written(first, "a")).toBe("-1----");
    expect(await written(placed, "a")).toBe("------");
    const left = await first.fork("left").call(put, { path: "a", text: "one\ntwo\n3\n4\n5\n6\n" });
    const right = await first.fork("right").call(put, { path: "a", text: "1\ntwo\n3\n4\n5\nsix\n" });
    const merged = await left.merge(right);
    expect(await merged.files.text("a")).toBe("one\ntwo\n3\n4\n5\nsix\n");
    expect(await written(merged, "a")).toBe("21---3");
    const lines = await blame(merged, "a");
    expect(lines[5]).toMatchObject({ line: 6, text: "six", event: { session: right.id, kind: "tool.returned" }, call: right.calls[1]?.id });
    expect(lines[2]).toMatchObject({ text: "3", event: { kind: "placement.changed" }, call: undefined });
    await rm(directory, { recursive: true });
  });

  test("of a file that is not there is an error that names it", async () => {
    await using rath = testRath();
    const session = await rath.session("x").to("memory", {}).call(put, { path: "a", text: "1" });
    await expect(blame(session, "b")).rejects.toMatchObject({ code: "workspace.not-found" });
    // The directory of a placement may well have it: nobody has looked there yet.
    await expect(blame(rath.session("y").to("host", { workspace: "." }), "package.json")).rejects.toMatchObject({
      code: "workspace.not-found",
      message: expect.stringMatching(/"package.json" was not looked for/),
    });
  });

  // Mutants: whatever lies in a .git counts; what is nothing alike counts last.
  test("of a file that is not there names those alike, none of git's own and none that is nothing like it", async () => {
    await using rath = testRath();
    let session: Session = rath.session("x").to("memory", {});
    for (const path of ["docs/price.md", ".git/price.md", "src/other.ts"]) session = await session.call(put, { path, text: "1" });
    await expect(blame(session, "price.md")).rejects.toMatchObject({ details: { alike: ["docs/price.md"] } });
    await expect(blame(session, "zebra")).rejects.toMatchObject({ details: { alike: [] } });
  });

  test("of a binary is refused, of an empty file there are no lines", async () => {
    await using rath = testRath();
    const session = await rath.session("x").to("memory", {}).call(put, { path: "a", text: "1\n\0" });
    await expect(blame(session, "a")).rejects.toMatchObject({ code: "workspace.invalid" });
    expect(await blame(await session.call(put, { path: "b", text: "" }), "b")).toEqual([]);
  });
});
