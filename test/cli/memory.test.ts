/** Memory on the command line, in files: what one process remembers another one finds, explains and takes back. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { projectOf } from "../../src/cli/project.ts";
import { openrath, type Session } from "../../src/index.ts";
import { call, type Shown } from "../golden-cli/world.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-memory-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = () => openrath({ store: join(folder, "store.db") });
const run = (argv: readonly string[], calling: Partial<Parameters<typeof call>[2]> = {}): Promise<Shown> =>
  call(() => projectOf(open(), undefined), argv, { terminal: false, cwd: folder, now: () => new Date(), ...calling });
const jsonOf = async (argv: readonly string[]): Promise<readonly Record<string, unknown>[]> =>
  JSON.parse((await run([...argv, "--json"])).out) as readonly Record<string, unknown>[];

/** Remembers one thing, and another one after reading it. */
async function remembered(): Promise<Session> {
  await using rath = open();
  const first = await rath.session("Tests are run with npm test").remember({ key: "test-command", content: "npm test" });
  await rath.memory.publish(first);
  const read = await rath.session("Write it down").recall("npm test");
  const [recall] = [...read.events()].filter(({ kind }) => kind === "recall.returned");
  const second = await read.remember({ key: "guide", content: "First npm test.", because: [recall?.id ?? ""] });
  await rath.memory.publish(second);
  return second;
}

describe("openrath memory", () => {
  test("finds in the store's folder what another process published", async () => {
    const { id } = await remembered();
    expect((await jsonOf(["memory", "search", "npm"])).map(({ key }) => key).sort()).toEqual(["guide", "test-command"]);
    expect(await jsonOf(["memory", "used-by", "test-command"])).toMatchObject([{ session: id, injected: false, readBy: [] }]);
    const hops = await jsonOf(["memory", "why", "guide"]);
    expect(hops.map(({ relation, kind }) => `${relation} ${kind}`)).toEqual([
      "wrote remember.called",
      "justified recall.returned",
      "wrote remember.called",
      "justified message.added",
    ]);
    expect(await jsonOf(["why", id, "memory=guide"])).toMatchObject(hops.map(({ event, relation }) => ({ event, relation })));
  });

  // Mutant: what was made of a memory stays when the memory is taken back.
  test("retract takes back what was made of it, with who and why on record; rollback undoes it once", async () => {
    const { id } = await remembered();
    const refused = await run(["memory", "retract", "test-command", "--reason", "old"]);
    expect([refused.exit, refused.err]).toEqual([2, expect.stringContaining("what was made of it (memory://project/guide)")]);
    expect(await jsonOf(["memory", "ls"])).toHaveLength(2);
    const taken = await run(["memory", "retract", "test-command", "--reason", "old", "--by", "human:ada", "--yes"]);
    expect([taken.exit, taken.out.split("\n").length - 1]).toEqual([0, 2]);
    expect(taken.err).toContain('rollback 2 --reason "…"');
    expect(await run(["memory", "ls"])).toMatchObject({ exit: 0, out: "", err: expect.stringContaining("--all") });
    expect((await run(["show", id])).out).toMatch(/^learned\tmemory:\/\/project\/guide@1 \(retracted, from human, trusted/m);
    expect((await run(["memory", "why", "test-command"])).out).toContain('retracted by human:ada: "old"');
    const back = await run(["memory", "rollback", "2", "--reason", "it held", "--yes"]);
    expect([back.exit, back.out.split("\n").length - 1]).toEqual([0, 2]);
    expect(await jsonOf(["memory", "ls"])).toHaveLength(2);
    expect(await jsonOf(["memory", "history", "guide"])).toMatchObject([
      { version: 1, state: "published" },
      { version: 2, state: "retracted", by: "human:ada" },
      { version: 3, state: "published", by: "human:ada", reason: "it held" },
    ]);
    // Mutant: rolling back to what holds already writes it again.
    expect(await run(["memory", "rollback", "2", "--reason", "again", "--yes"])).toMatchObject({ exit: 0, out: "" });
  });

  test("is empty, and makes no sessions, where nothing was remembered", async () => {
    expect(await run(["memory"])).toMatchObject({ exit: 0, out: "" });
    expect(await run(["memory", "ls", "--json"])).toMatchObject({ exit: 0, out: "[]\n", err: "" });
    expect((await run(["memory", "show", "x", "--quiet"])).exit).toBe(3);
    expect((await run(["ls", "--json"])).out).toBe("[]\n");
  });
});
