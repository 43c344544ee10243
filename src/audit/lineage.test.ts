import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { Workflow } from "../workflow/workflow.ts";
import { type LineageRow, write } from "./audit.ts";

class Choose extends Workflow {
  async forward(session: Session): Promise<Session> {
    const [a, b] = await Promise.all([
      session.fork("a").do("try", () => 1),
      session.fork("b").do("try", (context) => context.session.do("inner", () => 2).then((inner) => inner.output)),
    ]);
    a.reject("slower");
    return b.check("fast", () => true);
  }
}

it("writes one row for each branch: who made it, from what, and what became of it", async () => {
  await using rath = openrath({ store: "memory" });
  const begun = rath.session("Choose", { title: "choice", principal: "p1" }).to("local", { workspace: "./repo" });
  const session = await new Choose().forward(await begun.do("prepare", () => 0));
  const folder = await mkdtemp(join(tmpdir(), "openrath-lineage-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "lineage.jsonl");
  await write(session, file, { format: "lineage-jsonl" });
  const rows = (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LineageRow);
  expect(rows).toHaveLength(4);
  const [root, ...others] = rows;
  expect(root).toMatchObject({
    id: session.id,
    kind: "merge",
    title: "choice",
    operator: "p1",
    status: "idle",
    current: true,
    head: session.head,
    step: session.step,
    messages: 1,
    placement: { sandbox: "local", workspace: "./repo" },
  });
  expect(root?.usage).toEqual(session.usage);
  const lost = others.find((row) => row.label === "a");
  expect(lost).toMatchObject({
    kind: "fork",
    operator: "workflow",
    status: "rejected",
    reason: "slower",
    won: false,
    events: 4,
    messages: 1,
  });
  expect(lost?.parents).toEqual([
    { event: expect.stringMatching(/^[0-9a-f]{64}$/), session: session.id, how: "forked", step: expect.any(Number) },
  ]);
  const won = others.find((row) => row.label === "b");
  expect(won).toMatchObject({ status: "idle", reason: null, won: true });
  expect(root?.parents).toEqual([{ event: won?.head, session: won?.id, how: "adopted", step: session.step }]);
  expect(won?.parents.map((parent) => parent.how)).toEqual(["forked", "returned"]);
  expect(others.find((row) => row.nested)?.parents).toMatchObject([{ session: won?.id, how: "nested" }]);
  // Every parent is a row of the same file.
  for (const row of rows) for (const parent of row.parents) expect(rows.map((one) => one.id)).toContain(parent.session);
});
