/** Everything that is done with a session of which parts were erased: a clear error or a withheld file, never wrong content. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { blame, diff } from "../../src/audit/audit.ts";
import { verify } from "../../src/audit/verify.ts";
import { replay, rerun } from "../../src/index.ts";
import type { Session } from "../../src/session/session.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import type { Store } from "../../src/store/store.ts";
import { collect } from "../../src/testing/store-case.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { writeFile } from "../../src/tool/builtin/tools.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess } from "../support/other-process.ts";
import { ownSchemas, withClient } from "../support/postgres.ts";
import { sharedStore } from "../support/shared-store.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-erased-parts-"));
afterAll(() => rmSync(folder, { recursive: true }));
let url = "";
const schema = ownSchemas((given) => {
  url = given;
});
const who = { by: "human:ada", reason: "asked to" };
const erased = { code: "event.erased" };
const secret = "the word is Xanadu, and nobody may know it";

const work = new Flow(async (session) => {
  let at: Session = await session.to("memory").call(writeFile, { path: "open.txt", content: "for all\n" });
  at = await at.call(writeFile, { path: "secret.txt", content: secret });
  return at.do("end", () => "done");
}, "work");

test("files, patches, merges, diffs and forks of a session with an erased file", async () => {
  const store = sharedStore();
  await using rath = testRath({ store, workflows: { work }, implicitForks: "allow" });
  const { session: made } = await (await rath.run("work", rath.session("Begin"))).settle();
  const base = made;
  await rath.erase({ session: made.id, matching: "Xanadu" }, who);
  await using later = testRath({ store, workflows: { work }, implicitForks: "allow" });
  const session = await later.open(base.id);
  await expect(session.files.text("secret.txt")).rejects.toMatchObject(erased);
  expect(await session.files.patch()).toContain("secret.txt: content was erased");
  const target = mkdtempSync(join(folder, "apply-"));
  await session.apply(target);
  expect(readdirSync(target)).toEqual(["open.txt"]);
  await expect(blame(session, "secret.txt")).rejects.toMatchObject(erased);
  expect((await blame(session, "open.txt")).map(({ text }) => text)).toEqual(["for all"]);
  // Both sides go on; neither touched what is gone.
  const [left, right] = await Promise.all([
    session.fork("l").call(writeFile, { path: "left.txt", content: "left" }),
    session.fork("r").call(writeFile, { path: "right.txt", content: "right" }),
  ]);
  const merged = await left.merge(right);
  expect((await collect(merged.files.list())).sort()).toEqual(["left.txt", "open.txt", "right.txt", "secret.txt"]);
  await expect(merged.files.text("secret.txt")).rejects.toMatchObject(erased);
  expect(String(await diff(left, right))).not.toContain("Xanadu");
  expect(String(await diff(session, merged))).toContain("left.txt");
  // Written over, it can be read again.
  const over = await merged.call(writeFile, { path: "secret.txt", content: "nothing to see" });
  expect(await over.files.text("secret.txt")).toBe("nothing to see");
  for (const one of [session, await later.save(merged), over]) expect(await verify(one)).toMatchObject({ problems: [] });
  await expect(replay(session, work)).rejects.toMatchObject(erased);
  await expect(rerun(session, work)).rejects.toMatchObject(erased);
});

test.each([["do.returned"], ["do.called"], ["message.added"], ["ask.called"]])(
  "a run that was interrupted, and of which a %s was erased, does nothing again, and says why",
  async (kind) => {
    const store = sharedStore();
    let paid = 0;
    const flow = new Flow(async (session) => {
      const at = await session.do("pay", () => `receipt ${++paid}`, { repeat: "once" });
      const { output } = at;
      const answered = await at.ask("Go on?");
      return answered.say(`${output} ${session.messages.length}`);
    }, "pays");
    const first = otherProcess(store, { workflows: { pays: flow } });
    const run = await first.run("pays", first.session("Pay"));
    const { session } = await run.settle();
    const [question] = await first.pending();
    const gone = [...session.events()].find((event) => event.kind === kind)?.id ?? "";
    await first.close();
    await using refusing = otherProcess(store);
    await expect(refusing.erase({ events: [gone] }, who)).rejects.toMatchObject({ code: "erase.refused" });
    // As by somebody who erases at the moment it is taken up.
    await (store as Required<Store>).erase([gone], "0".repeat(64));
    await using second = otherProcess(store, { workflows: { pays: flow } });
    const outcome = await (async () => {
      await second.decide(question?.id ?? "", { by: "human:ada", answer: "yes" });
      return (await (await second.resume(run.id)).settle()) as { readonly status: string; readonly session: Session };
    })().catch((error: unknown) => error as Error & { readonly code?: string });
    expect(paid).toBe(1);
    if ("status" in outcome && outcome.status === "done") expect(outcome.session.messages.at(-1)?.text).toBe("receipt 1 1");
    else expect(outcome).toMatchObject({ status: "waiting", diverged: { text: expect.stringMatching(/said was erased$/) } });
  },
);

test("no row of PostgreSQL holds what was erased", async () => {
  const name = schema();
  const store = postgresStore(url, { schema: name });
  await using rath = testRath({ store, workflows: { work } });
  const { session } = await (await rath.run("work", rath.session("Xanadu it is", { title: "Xanadu", tags: ["Xanadu"] }))).settle();
  await rath.session(`Xanadu ${"long ".repeat(2000)}`).do("x", () => "Xanadu");
  const rows = (): Promise<string> =>
    withClient(url, async (client) => {
      let all = "";
      const { rows: tables } = await client.query("SELECT table_name FROM information_schema.tables WHERE table_schema = $1", [name]);
      for (const { table_name: table } of tables as { table_name: string }[]) {
        const { rows: found } = await client.query(`SELECT * FROM "${name}"."${table}"`);
        for (const row of found as Record<string, unknown>[])
          for (const value of Object.values(row)) all += Buffer.isBuffer(value) ? value.toString("latin1") : JSON.stringify(value);
      }
      return all;
    });
  expect(await rows()).toContain("Xanadu");
  const report = await rath.erase({ matching: "Xanadu" }, who);
  expect(report).toMatchObject({ left: [{ what: "table" }], scrubbed: true });
  expect(await rows()).not.toContain("Xanadu");
  expect(await verify(await rath.open(session.id))).toMatchObject({ problems: [] });
});
