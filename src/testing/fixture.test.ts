import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { assertReplay } from "./assert-replay.ts";
import { fixture } from "./fixture.ts";
import { testRath } from "./test-rath.ts";

let folder: string;
let recordings = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "openrath-fixture-"));
  recordings = 0;
  vi.stubEnv("CI", "");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const agent = (instructions: string): Agent => new Agent({ model: scripted("Hello."), instructions });

/** As a user's test does it: the Rath that recorded is closed before the session is written. */
async function record(): Promise<Session> {
  recordings++;
  await using live = openrath({ store: join(folder, "live", "store.db"), models: {} });
  return await (await live.run(agent("Greet.\nBe brief."), live.session("Hi"))).result();
}

describe("fixture", () => {
  test("records what is missing, loads what is there, and records again when told to", async () => {
    await using rath = testRath();
    const file = join(folder, "sessions", "hi.jsonl");
    const first = await fixture(file, rath, record);
    const second = await fixture(file, rath, record);
    expect([first.text, second.head === first.head, recordings]).toEqual(["Hello.", true, 1]);
    vi.stubEnv("UPDATE_SESSIONS", "1");
    expect((await fixture(file, rath, record)).head).not.toBe(first.head);
    expect(recordings).toBe(2);
  });

  test("records nothing where CI is set", async () => {
    await using rath = testRath();
    vi.stubEnv("CI", "true");
    await expect(fixture(join(folder, "missing.jsonl"), rath, record)).rejects.toThrow(/missing, and nothing is recorded where CI is set/);
    expect(recordings).toBe(0);
  });

  test("keeps what is there when recording fails", async () => {
    await using rath = testRath();
    const file = join(folder, "hi.jsonl");
    const { head } = await fixture(file, rath, record);
    vi.stubEnv("UPDATE_SESSIONS", "1");
    await expect(fixture(file, rath, () => Promise.reject(new Error("no key")))).rejects.toThrow("no key");
    vi.stubEnv("UPDATE_SESSIONS", "");
    expect((await fixture(file, rath, record)).head).toBe(head);
  });
});

describe("assertReplay", () => {
  test("passes while the program asks the same, and shows a changed prompt as a diff", async () => {
    await using rath = testRath();
    const session = await fixture(join(folder, "hi.jsonl"), rath, record);
    expect(await assertReplay(session, agent("Greet.\nBe brief."))).toMatchObject({ identical: true });
    const failed = await assertReplay(session, agent("Greet.\nBe long.")).catch((error: Error) => error.message);
    expect(failed).toMatch(/model\.called by agent\), instructions differs/);
    expect(failed).toContain("  … 1 equal lines\n- Be brief.\n+ Be long.\n");
  });
});
