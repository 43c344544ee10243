/** What is signed is what a run itself has come to, however programs mix runs, effects outside them, saves and exports. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { write } from "../audit/audit.ts";
import { verify } from "../audit/verify.ts";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Rath } from "./rath.ts";
import { signingKeyIn } from "./signing-key.ts";

const work = new Flow((session) => session.do("inside", () => 1, { repeat: "safe" }));
type Act = "do" | "fork" | "forward" | "run" | "save" | "export" | "say" | "older";

async function played(rath: Rath, acts: readonly Act[], folder: string): Promise<void> {
  let [at, older]: [Session, Session] = [rath.session("go"), rath.session("go")];
  for (const act of acts) {
    const before: Session = at;
    if (act === "do") at = await at.do("outside", () => 1, { repeat: "safe" });
    if (act === "fork") at = at.fork("f");
    if (act === "say") at = at.say("hello");
    if (act === "forward") at = await work.forward(at);
    if (act === "run") at = await (await rath.run(work, at)).result();
    if (act === "save") await rath.save(at);
    if (act === "export") await write(at, join(folder, "bundle"), { format: "bundle" });
    if (act === "older") [at, older] = [older, at];
    else older = before;
  }
  for (const session of [at, older]) await rath.save(session);
}

async function check(acts: readonly Act[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-sign-"));
  const store = { ...memoryStore(), [Symbol.asyncDispose]: async () => {} };
  try {
    const rath = openrath({ store, implicitForks: "allow" });
    await played(rath, acts, folder);
    await rath.close();
    await using again = openrath({ store });
    for await (const { id } of again.sessions())
      expect((await verify(await again.open(id))).problems, `${acts.join(", ")}: ${id}`).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// Mutant: whatever was saved last is what the effects outside runs have come to.
test("a workflow's result that is saved once more is not signed as the work of others", async () => {
  await check(["do", "fork", "do", "forward", "save"]);
  await check(["do", "forward", "export"]);
  await check(["do", "run", "save", "older", "say"]);
});

test("whatever a program does in whatever order, all of it is intact afterwards", async () => {
  const act = fc.constantFrom<Act>("do", "fork", "forward", "run", "save", "export", "say", "older");
  await fc.assert(fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 8 }), check), { numRuns: 40 });
});

// Random text looks like a key of a provider once in some ten thousand statements. Mutant: statements are redacted as other data is.
test("nothing of a statement is taken for a secret", async () => {
  const home = await mkdtemp(join(tmpdir(), "openrath-sign-"));
  try {
    const { id } = await signingKeyIn(home);
    await using rath = openrath({ store: join(home, "store.db"), secrets: [id.slice(5, 20)] });
    const session = await rath.session("go").do("outside", () => id, { repeat: "safe" });
    const done = await (await rath.run(work, session)).result();
    expect(String(session.output)).toContain("[redacted]");
    const { problems, checked } = await verify(done);
    expect(problems).toEqual([]);
    expect(checked.statements).toBeGreaterThan(0);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
