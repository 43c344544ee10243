/** Merging branches with files: laws of merge, branches of other processes, branches that moved meanwhile. */
import { mkdtemp, rm, writeFile as writeHostFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Rath } from "../../src/runtime/rath.ts";
import { RathError } from "../../src/session/errors.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { shell, writeFile } from "../../src/tool/builtin/tools.ts";
import { tool } from "../../src/tool/tool.ts";
import { otherProcess, until } from "../support/other-process.ts";
import { sharedStore } from "../support/shared-store.ts";

let repo: string;
beforeAll(async () => {
  repo = await mkdtemp(join(tmpdir(), "rath-merges-"));
  await writeHostFile(join(repo, "x"), "1\n2\n3\n4\n5\n6\n7\n");
});
afterAll(() => rm(repo, { recursive: true, force: true }));

const put = (session: Session, path: string, content: string): Promise<Session> => session.call(writeFile, { path, content });
const placed = (rath: Rath): Session => rath.session("go").to("memory", { workspace: repo });

async function contents(session: Session): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for await (const path of session.files.list()) found[path] = await session.files.text(path);
  return found;
}

describe("a merge", () => {
  test("of changes apart gives one tree, whoever receives them, also of three", async () => {
    await using rath = testRath();
    const base = await put(placed(rath), "base", "base\n");
    const [a, b, c] = (await Promise.all([
      put(base.fork("a"), "a", "a\n"),
      base.fork("b").call(shell, { command: "rm base; mkdir d; echo b > d/b; chmod +x d/b" }),
      base.fork("c").call(shell, { command: "sed -i s/7/seven/ x; ln -s x link" }),
    ])) as [Session, Session, Session];
    const trees = new Set<string>();
    for (const [first, ...rest] of [
      [a, b, c],
      [a, c, b],
      [b, a, c],
      [c, b, a],
    ] as const) {
      const receiver = (first as Session).fork("receiver");
      trees.add((await receiver.merge(rest)).files.hash);
      trees.add((await (await (first as Session).fork("again").merge(rest[0] as Session)).merge(rest[1] as Session)).files.hash);
    }
    expect(trees.size).toBe(1);
    const merged = await a.merge([b, c]);
    expect(await contents(merged)).toMatchObject({ a: "a\n", "d/b": "b\n", x: "1\n2\n3\n4\n5\n6\nseven\n" });
    expect((await merged.merge(b)).head).toBe(merged.head);
    const ran = await merged.call(shell, { command: "./d/b; ls; cat link | tail -1" });
    expect((ran.output as { readonly stdout: string }).stdout).toContain("seven\n");
  });

  test("with a branch that never used files takes what the other has", async () => {
    await using rath = testRath();
    const base = placed(rath).note("nothing used");
    const silent = base.fork("silent").say("only words");
    const busy = await put(base.fork("busy"), "new", "new\n");
    const into = await silent.merge(busy);
    expect(Object.keys(await contents(into))).toEqual(["new", "x"]);
    const from = await busy.fork("receiver").merge(base.fork("other").say("more words"));
    expect(from.files.hash).toBe(busy.files.hash);
    const nowhere = rath.session("no files at all").say("words");
    expect((await nowhere.merge(nowhere.fork("same").say("more"))).files.hash).toBe(nowhere.files.hash);
  });

  test("criss-cross with different files is refused, and says which places differ", async () => {
    await using rath = testRath();
    const base = await put(placed(rath), "y", "base\n");
    const a = await put(base.fork("a"), "y", "a\n");
    const b = await put(base.fork("b"), "z", "b\n");
    const ab = await put(await a.fork("ab").merge(b), "later", "ab\n");
    const ba = await put(await b.fork("ba").merge(a), "z", "ba\n");
    const error = (await ab.merge(ba).catch((thrown: unknown) => thrown)) as RathError;
    expect(RathError.is(error, "merge.refused")).toBe(true);
    expect(new Set(error.details["bases"] as readonly string[])).toEqual(new Set([a.head, b.head]));
    // The head was given back: the branch goes on.
    expect((await put(ab, "more", "")).id).toBe(ab.id);
  });

  test("finds the conflicts that were foretold, and nothing else", async () => {
    await using rath = testRath();
    const base = await put(placed(rath), "gone", "1\n");
    const a = await base.fork("a").call(shell, { command: "echo a > x; rm gone; echo a > both; echo same > same; echo a > only-a" });
    const b = await base.fork("b").call(shell, { command: "echo b > x; echo 2 > gone; mkdir both; echo b > both/b; echo same > same" });
    const foretold = await a.conflicts(b);
    expect(foretold.map((one) => one.kind === "file" && one.path)).toEqual(expect.arrayContaining(["gone", "x"]));
    const error = (await a.merge(b).catch((thrown: unknown) => thrown)) as RathError;
    expect(error.details["conflicts"]).toEqual(foretold);
    const asked: unknown[] = [];
    const settled = await a.merge(b, {
      conflicts: (conflict) => {
        asked.push(conflict);
        return "ours";
      },
    });
    expect(asked).toEqual(foretold);
    expect(settled.id).toBe(a.id);
    expect(settled.files.hash).toBe(a.files.hash);
  });

  test("of branches from another process stands on the files that these took, not on those of today", async () => {
    const store = sharedStore();
    const directory = await mkdtemp(join(tmpdir(), "rath-merges-moved-"));
    await writeHostFile(join(directory, "x"), "1\n2\n3\n4\n5\n6\n7\n");
    const first = testRath({ store });
    const base = await first.save(first.session("go").to("memory", { workspace: directory }));
    const a = await base.fork("a").call(shell, { command: "sed -i s/1/one/ x" });
    const b = await base.fork("b").call(shell, { command: "sed -i s/7/seven/ x" });
    await first.close();
    await writeHostFile(join(directory, "x"), "I\nII\nIII\nIV\nV\nVI\nVII\n");
    await using rath = testRath({ store });
    const today = await (await rath.open(base.id)).fork("today").call(shell, { command: "cat x" });
    expect((today.output as { readonly stdout: string }).stdout).toContain("III");
    const merged = await (await rath.open(a.id)).merge(await rath.open(b.id));
    expect(await merged.files.text("x")).toBe("one\n2\n3\n4\n5\n6\nseven\n");
    await rm(directory, { recursive: true });
  });
});

describe("a branch that was continued elsewhere while a command ran", () => {
  test("keeps its files there, and what was made here is a fork with its own", async () => {
    const store = memoryStore();
    const here = otherProcess(store);
    const there = otherProcess(store);
    const base = await put(placed(here), "base", "base\n");
    let going = false;
    let go = false;
    const slow = tool({
      name: "slow",
      description: "Takes long.",
      input: { type: "object" },
      writes: "files",
      run: async (_, { sandbox }) => {
        await sandbox.exec("echo here > here; echo here >> base");
        going = true;
        while (!go) await new Promise((resolve) => setTimeout(resolve, 2));
      },
    });
    const command = base.call(slow, {});
    await until("the command", () => going);
    const other = await put(await there.open(base.id), "there", "there\n");
    go = true;
    const mine = await command;
    expect(mine.id).not.toBe(base.id);
    expect(other.id).toBe(base.id);
    expect(mine.lineage).toMatchObject({ kind: "fork", implicit: true });
    expect(Object.keys(await contents(mine))).toEqual(["base", "here", "x"]);
    expect(await mine.files.text("base")).toBe("base\nhere\n");
    const after = await mine.call(shell, { command: "cat base here" });
    expect((after.output as { readonly stdout: string }).stdout).toBe("base\nhere\nhere\n");
    const reader = otherProcess(store);
    expect(Object.keys(await contents(await reader.open(base.id)))).toEqual(["base", "there", "x"]);
    expect(await contents(await reader.open(mine.id))).toEqual(await contents(after));
    for (const rath of [here, there, reader]) await rath.close();
  });
});
