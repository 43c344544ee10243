import { expect, test } from "vitest";
import { ObjectMap } from "../workspace/objects.ts";
import { type Entry, emptyTree, sorted, Trees } from "../workspace/tree.ts";
import { memorySandbox } from "./memory.ts";
import { carryIn, carryOut } from "./mirror.ts";

const trees = new Trees(new ObjectMap());
const open = () => memorySandbox().open({ session: "s", directory: undefined, network: "none", env: {} });
const nothing = () => false;

const file = async (text: string, mode = 0o644): Promise<Entry> => {
  const bytes = Buffer.from(text);
  return { type: "file", mode, size: bytes.length, hash: await trees.objects.put(bytes) };
};
const link = (target: string): Entry => ({ type: "link", target });
const directory = async (entries: Record<string, Entry>, mode = 0o755): Promise<Entry> => ({
  type: "directory",
  mode,
  hash: await tree(entries),
});
const tree = (entries: Record<string, Entry>) => trees.store(sorted(new Map(Object.entries(entries))));

test("what was carried in comes out as it was, permissions and links included", async () => {
  await using sandbox = await open();
  const first = await tree({
    src: await directory({ "a-link": link("z"), z: await file("z", 0o664) }, 0o775),
    shut: await directory({ inner: await directory({ file: await file("x", 0o755) }, 0o700) }, 0o500),
    empty: await directory({}, 0o775),
    links: await directory({ one: link("/nowhere") }),
  });
  await carryIn(sandbox, trees, emptyTree, first);
  expect(await carryOut(sandbox, trees, first, nothing)).toBe(first);
  const second = await tree({
    src: await directory({ z: await file("other") }),
    shut: await directory({ inner: await directory({ more: await file("y") }, 0o500) }, 0o550),
    empty: await directory({}),
  });
  await carryIn(sandbox, trees, first, second);
  expect(await carryOut(sandbox, trees, second, nothing)).toBe(second);
});

test("a directory that is shut is opened to be changed", async () => {
  await using sandbox = await open();
  const asked: string[] = [];
  const exec = (command: string | readonly string[]) => {
    asked.push(String(command));
    return sandbox.exec(command);
  };
  const told = { ...bound(sandbox), exec };
  const first = await tree({ d: await directory({ a: await file("1") }, 0o500) });
  const second = await tree({ d: await directory({ a: await file("2") }, 0o500) });
  await carryIn(told, trees, emptyTree, first);
  await carryIn(told, trees, first, second);
  expect(asked).toEqual(["chmod,500,./d", "chmod,700,./d", "chmod,500,./d"]);
});

test("and to be removed, with those below it", async () => {
  await using sandbox = await open();
  const asked: string[] = [];
  const told = {
    ...bound(sandbox),
    exec: (command: string | readonly string[]) => {
      asked.push(String(command));
      return sandbox.exec(command);
    },
  };
  const first = await tree({ d: await directory({ e: await directory({ a: await file("1") }, 0o555) }, 0o500), f: await file("2") });
  const second = await tree({ f: await file("2") });
  await carryIn(told, trees, emptyTree, first);
  asked.length = 0;
  await carryIn(told, trees, first, second);
  expect(asked).toEqual(["chmod,700,./d", "chmod,700,./d/e"]);
  expect(await carryOut(sandbox, trees, second, nothing)).toBe(second);
});

test("a link that was removed is gone; what cannot be carried in stays", async () => {
  await using sandbox = await open();
  const before = await tree({ link: link("file"), file: await file("x"), socket: { type: "socket" } });
  await carryIn(sandbox, trees, emptyTree, before);
  await sandbox.exec("rm link");
  const after = await tree({ file: await file("x"), socket: { type: "socket" } });
  expect(await carryOut(sandbox, trees, before, nothing)).toBe(after);
});

test("what a sandbox cannot make is an error, not a change", async () => {
  await using sandbox = await open();
  const refusing = { ...bound(sandbox), exec: async () => ({ exitCode: 1, stdout: "", stderr: "no links here\n", durationMs: 0 }) };
  const wanted = await tree({ link: link("file") });
  await expect(carryIn(refusing, trees, emptyTree, wanted)).rejects.toMatchObject({
    code: "sandbox.failed",
    message: expect.stringContaining("no links here"),
  });
});

function bound(sandbox: Awaited<ReturnType<typeof open>>) {
  const { read, write, list, remove } = sandbox;
  return { read: read.bind(sandbox), write: write.bind(sandbox), list: list.bind(sandbox), remove: remove.bind(sandbox) };
}
