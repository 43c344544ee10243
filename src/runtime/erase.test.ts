import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { verify } from "../audit/verify.ts";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { collect } from "../testing/store-case.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-erase-"));
afterAll(() => rmSync(folder, { recursive: true }));

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: ({ path, text }, { sandbox }) => sandbox.write(path, text),
});
const who = { by: "human:ada", reason: "asked to" };
/** The store outlives the Raths on it. */
const lasting = (store: Store): Store => ({ ...store, [Symbol.asyncDispose]: async () => {} });

describe("erase", () => {
  test("takes what a session says, keeps its envelopes, and the record verifies", async () => {
    await using rath = testRath();
    const session = await rath.session("My PIN is 4711", { title: "Private" }).do("greet", () => "hello");
    const report = await rath.erase({ session }, who);
    expect(report.events).toHaveLength(4);
    expect(report.entries).toHaveLength(1);
    expect(session.messages.map(({ text }) => text)).toEqual(["[erased]"]);
    expect(() => session.output).toThrowError(expect.objectContaining({ code: "event.erased" }));
    const opened = await rath.open(session.id);
    expect(opened.messages[0]?.text).toBe("[erased]");
    const found = await verify(opened);
    expect(found).toMatchObject({
      ok: true,
      problems: [],
      erased: 4,
      erasures: [{ entry: report.entries[0], by: "human:ada", reason: "asked to", events: 4 }],
    });
    expect((await rath.erase({ session }, who)).events).toEqual([]);
  });
});
