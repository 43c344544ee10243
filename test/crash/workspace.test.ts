/** Work on files is left at every commit and every step of a tool; another process comes to the same files and the same record. */
import { mkdtemp, rm, writeFile as writeHostFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Rath } from "../../src/runtime/rath.ts";
import { replay, runtimeOf } from "../../src/runtime/replay.ts";
import type { Session } from "../../src/session/session.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { editFile, shell, writeFile } from "../../src/tool/builtin/tools.ts";
import { tool } from "../../src/tool/tool.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Life, rathOf } from "./world.ts";

let repo: string;
beforeAll(async () => {
  repo = await mkdtemp(join(tmpdir(), "rath-workspace-crash-"));
  await writeHostFile(join(repo, "shared.txt"), "1\n2\n3\n4\n5\n6\n7\n");
});
afterAll(() => rm(repo, { recursive: true, force: true }));

/** Two branches write, run commands and are judged; then they are one again. */
class Team extends Workflow {
  readonly name = "team";
  readonly #life: Life;
  readonly #conflicts: "ask" | undefined;

  constructor(life: Life, conflicts?: "ask") {
    super();
    this.#life = life;
    this.#conflicts = conflicts;
  }

  async forward(session: Session): Promise<Session> {
    const base = await session.call(writeFile, { path: "plan.md", content: "plan\n" });
    const [left, right] = await Promise.all([this.#left(base.fork("left")), this.#right(base.fork("right"))]);
    const merged = await left.merge(right, this.#conflicts === undefined ? {} : { conflicts: this.#conflicts });
    const summed = await merged.call(shell, { command: "cat shared.txt l/* r/* > sum.txt; wc -l < sum.txt" });
    return summed.check("sum", async ({ sandbox }) => (await sandbox.exec("test -s sum.txt; touch junk")).exitCode === 0);
  }

  async #left(session: Session): Promise<Session> {
    const edited = await session.call(editFile, { path: "shared.txt", find: "1\n", replace: "one\n" });
    const ran = await edited.call(shell, { command: "mkdir l; echo left > l/a; echo again >> plan.md; cat plan.md" });
    const halves = await ran.call(this.#halves, {});
    return halves.check("left", async ({ sandbox }) => {
      await this.#life.point();
      return (await sandbox.exec("cat l/a; echo judged > l/a")).stdout === "left\n";
    });
  }

  async #right(session: Session): Promise<Session> {
    const written = await session.call(writeFile, { path: "r/b", content: "right\n" });
    const ran = await written.call(shell, { command: "echo more >> r/b; ls > r/list" });
    const text = this.#conflicts === undefined ? "seven\n" : "SEVEN\n";
    const edited = await ran.call(editFile, { path: "shared.txt", find: "7\n", replace: text });
    const clash = this.#conflicts === undefined ? edited : await edited.call(writeFile, { path: "plan.md", content: "other plan\n" });
    return clash.check("right", async ({ sandbox }) => (await sandbox.exec("grep -c more r/b")).stdout === "1\n");
  }

  /** Writes in two steps, in between which its process may die; says what it found before. */
  get #halves() {
    return tool({
      name: "halves",
      description: "Writes one half, then the other.",
      input: { type: "object" },
      writes: "files",
      run: async (_, { sandbox }) => {
        const { stdout } = await sandbox.exec("ls l; echo first >> l/halves");
        await this.#life.point();
        await sandbox.write("l/written", "by the tool");
        await sandbox.exec("echo second >> l/halves");
        await this.#life.point();
        return stdout;
      },
    });
  }
}

function what(session: Session): string {
  const runtime = runtimeOf(session);
  return whatOf(placeOf(session).node, runtime.platform, (node) => runtime.textOf(node), new Map());
}

async function complete(rath: Rath, team: Team): Promise<Session> {
  const run = await rath.run(team, rath.session("go").to("memory", { workspace: repo }), { key: "team" });
  for (;;) {
    const settled = await run.settle();
    if (settled.status === "done") return settled.session;
    if (settled.status !== "waiting" || settled.diverged !== undefined || settled.pending.length === 0)
      throw new Error(`stuck: ${JSON.stringify(settled)} ${settled.status === "failed" ? settled.error.stack : ""}`);
    for (const pending of settled.pending) {
      expect(pending).toMatchObject({ kind: "question", question: expect.stringContaining("plan.md") });
      await rath
        .decide(pending.id, { by: "human:test", answer: { choice: "content", content: "settled plan\n" } })
        .catch((error: { readonly code?: string }) => {
          if (error.code !== "pending.answered") throw error;
        });
    }
  }
}

/** Without how long commands took. */
function told(session: Session): unknown {
  const calls = session.calls.map(({ tool: name, outcome, changes }) => ({ name, outcome, changes }));
  return JSON.parse(JSON.stringify(calls, (key, value: unknown) => (key === "durationMs" ? undefined : value)));
}

describe("work on files that is left in the middle of anything", () => {
  test.each([undefined, "ask"] as const)(
    "comes to the same files and the same record (conflicts: %s)",
    { timeout: 120_000 },
    async (how) => {
      const calm = new Life();
      const expected = await complete(rathOf(memoryStore(), calm), new Team(calm, how));
      expect(await expected.files.text("sum.txt")).toContain("one\n2\n");
      expect(await expected.files.text("l/halves")).toBe("first\nsecond\n");
      expect(await expected.files.text("l/a")).toBe("left\n");
      expect(expected.checks.map(({ passed }) => passed)).toEqual([true, true, true]);
      expect(calm.points).toBeGreaterThan(10);
      for (let point = 0; point < calm.points; point++) {
        const store = memoryStore();
        const life = new Life(point);
        const mortal = rathOf(store, life);
        await life.sees(complete(mortal, new Team(life, how)));
        void mortal.close().catch(() => {});
        const second = new Life();
        const heir = rathOf(store, second);
        const team = new Team(second, how);
        const session = await complete(heir, team);
        expect(session.files.hash, `killed at ${point}`).toBe(expected.files.hash);
        expect(told(session), `killed at ${point}`).toEqual(told(expected));
        expect(what(session), `killed at ${point}`).toBe(what(expected));
        expect(String(await replay(session, team)), `killed at ${point}`).toMatch(/^identical/);
        await heir.close();
        // Whoever reads only the store finds every file.
        const reader = rathOf(store, new Life());
        const read = await reader.open(session.id);
        const paths: string[] = [];
        for await (const path of read.files.list()) paths.push(`${path}: ${await read.files.text(path)}`);
        expect(paths.length, `killed at ${point}`).toBe(8);
        await reader.close();
      }
    },
  );
});
