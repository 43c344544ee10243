import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openrath } from "../openrath.ts";
import { memoryStore } from "../store/memory.ts";
import { write } from "./audit.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-about-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it("a bundle has the titles, tags and principals that were hashed, whatever the store says", async () => {
  const [honest, lying] = [join(folder, "honest.jsonl"), join(folder, "lying.jsonl")];
  await using rath = openrath({ store: "memory" });
  await write(await rath.session("Hello", { title: "Report", tags: ["b", "a"], principal: "p7" }).do("work", () => 1), honest);
  const kept = memoryStore();
  await using there = openrath({
    store: {
      ...kept,
      async *sessions(query) {
        for await (const row of kept.sessions(query)) yield { ...row, title: "A lie", tags: ["x"], principal: "root" };
      },
    },
  });
  await write(await there.import(honest), lying);
  expect(await readFile(lying, "utf8")).toBe(await readFile(honest, "utf8"));
});

it("a detached session keeps what its source is called, in the store that imports it too", async () => {
  await using rath = openrath({ store: "memory" });
  const session = await rath.session("Hello", { title: "Report", tags: ["a"] }).do("work", () => 1);
  const between = await rath.save(session.detach());
  const detached = await rath.save(between.detach().say("on"));
  await write(detached, join(folder, "detached.jsonl"));
  await using other = openrath({ store: "memory" });
  expect((await other.import(join(folder, "detached.jsonl"))).head).toBe(detached.head);
  const tagged: string[] = [];
  for await (const { id } of other.sessions({ tag: "a" })) tagged.push(id);
  expect(tagged).toEqual(expect.arrayContaining([session.id, between.id, detached.id]));
});

it("titles that lie in a blob or are empty travel too; one that is no text is refused", async () => {
  await using rath = openrath({ store: "memory" });
  await using other = openrath({ store: "memory" });
  for (const [index, title] of ["long ".repeat(2000), ""].entries()) {
    const file = join(folder, `${index}.jsonl`);
    const session = await rath.save(rath.session("odd", { title, tags: [] }));
    await write(session, file);
    expect((await other.import(file)).head).toBe(session.head);
  }
  expect(() => rath.session("odd", { title: "half \ud800" })).toThrow(/lone surrogate/);
});
