/** Anchors of a whole store: a run that was removed is missed, whichever family it belonged to. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rerun } from "../../src/index.ts";
import type { Store } from "../../src/store/store.ts";
import { collect } from "../../src/testing/store-case.ts";
import { call, lastingStore, rathOn, workflows } from "./world.ts";

let folder = "";
const store = lastingStore();
/** The rerun in the middle: neither the first of its family nor the newest. */
let removed: { readonly session: string; readonly run: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-anchor-"));
  const rath = rathOn(store);
  const first = await (await rath.run("assistant", rath.session("When is high water?"))).result();
  const again = () => rerun(first, workflows.assistant, { change: (at) => at.say("Again") });
  const { session } = await again();
  const [row] = await collect(store.sessions({ id: session.id }));
  removed = { session: session.id, run: row?.run ?? "" };
  await again();
  await rath.close();
  const { exit, err } = await verifyAll(store, ["--write-anchor", "anchors.jsonl"]);
  expect({ exit, err }).toEqual({ exit: 0, err: expect.stringContaining("3 statements added") });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const verifyAll = (of: Store, argv: readonly string[]) => call(of, ["verify", "--all", ...argv], { terminal: false, cwd: folder });

/** The store after somebody removed a run and what it wrote. */
function without({ session, run }: typeof removed): Store {
  const isGone = (id: string | undefined): boolean => id === session || id === run;
  const rest = async function* <T>(items: AsyncIterable<T>, gone: (item: T) => boolean): AsyncGenerator<T, void> {
    for await (const item of items) if (!gone(item)) yield item;
  };
  return {
    ...store,
    sessions: (query) => rest(store.sessions(query), ({ id }) => isGone(id)),
    events: (query) => rest(store.events(query), (event) => isGone(event.session)),
    runs: (query) => rest(store.runs(query), ({ id }) => isGone(id)),
  };
}

// Mutant: one statement for each family.
test("a removed rerun does not hold against an anchor of the store", async () => {
  expect((await verifyAll(store, ["--anchor", "anchors.jsonl"])).exit).toBe(0);
  const { exit, out } = await verifyAll(without(removed), ["--anchor", "anchors.jsonl"]);
  expect({ exit, out }).toEqual({ exit: 4, out: expect.stringContaining("that head is not there any more") });
});

// Mutant: what an anchor shows is a warning on stderr alone.
test.each(["--json", "--jsonl"])("with %s it is part of the data", async (format) => {
  const { out } = await verifyAll(without(removed), ["--anchor", "anchors.jsonl", format]);
  const rows =
    format === "--json"
      ? JSON.parse(out)
      : out
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
  expect(rows.slice(0, -1).every(({ ok }: { readonly ok: boolean }) => ok)).toBe(true);
  expect(rows.at(-1)).toMatchObject({ session: null, ok: false, problems: [{ kind: "cut-back" }] });
});

test("a statement is added once", async () => {
  const file = join(folder, "anchors.jsonl");
  const before = await readFile(file, "utf8");
  const { err } = await verifyAll(store, ["--write-anchor", "anchors.jsonl"]);
  expect(err).toContain("0 statements added");
  expect(await readFile(file, "utf8")).toBe(before);
});
