/** Other projects of one store: opened once, closed when nobody needs them, and never while somebody does. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { freshDatabase, withClient } from "../../test/support/postgres.ts";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { Workflow } from "../workflow/workflow.ts";
import { Projects } from "./projects.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-projects-"));
afterAll(() => rmSync(folder, { recursive: true }));

const scope = (project: string, tenant = "default") => ({ tenant, project });
let files = 0;
const file = (): string => join(folder, `${files++}.db`);

test("a project is opened once, keeps its data to itself, and finds it again", async () => {
  await using rath = openrath({ store: file() });
  const projects = new Projects(rath, 4);
  expect(projects.hold(scope("default")).project.rath).toBe(rath);
  const [a, again, b] = [projects.hold(scope("a")), projects.hold(scope("a")), projects.hold(scope("a", "other"))];
  expect([a.project.rath === again.project.rath, a.project.rath === b.project.rath]).toEqual([true, false]);
  const session = await a.project.rath.save(a.project.rath.session("Hello"));
  await expect(b.project.rath.open(session.id)).rejects.toMatchObject({ code: "session.not-found" });
  await expect(rath.open(session.id)).rejects.toMatchObject({ code: "session.not-found" });
  for (const one of [a, again, b]) one.release();
  await projects.close();
  const later = new Projects(rath, 4);
  expect((await later.hold(scope("a")).project.rath.open(session.id)).head).toBe(session.head);
  expect(() => projects.hold(scope("c"))).toThrow(/stopping/);
  await later.close();
});

test("the longest unused one that nobody holds makes room for another", async () => {
  await using rath = openrath({ store: file() });
  const projects = new Projects(rath, 2);
  const [a, b] = [projects.hold(scope("a")), projects.hold(scope("b"))];
  expect(() => projects.hold(scope("c"))).toThrow(/room for 2 projects at once/);
  b.release();
  b.release();
  // Released twice counts once: a held one stays.
  const c = projects.hold(scope("c"));
  expect(projects.opened().map(({ project }) => project)).toEqual(["default", "a", "c"]);
  a.release();
  projects.hold(scope("a")).release();
  c.release();
  // Now c is the one that was used before a.
  projects.hold(scope("d")).release();
  expect(projects.opened().map(({ project }) => project)).toEqual(["default", "a", "d"]);
  await projects.close();
  expect(() => b.project.rath.session("late")).toThrow(/was closed/);
});

// Mutant: those that are worked on count too, so that calls to others are refused for ever.
test("those that a worker holds leave room for others, however many they are", async () => {
  await using rath = openrath({ store: file() });
  const projects = new Projects(rath, 1);
  const call = projects.hold(scope("called"));
  for (const name of ["a", "b", "called"]) projects.hold(scope(name), true);
  const other = projects.hold(scope("other"));
  expect(() => projects.hold(scope("another"))).toThrow(/room for 1 project at once/);
  other.release();
  call.release();
  projects.hold(scope("another")).release();
  await projects.close();
});

test("one in which a run is under way or waits stays", async () => {
  let go = (): void => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  class Slow extends Workflow {
    forward(session: Session) {
      return session.do("wait", () => held);
    }
  }
  await using rath = openrath({ store: file(), workflows: { slow: new Slow() } });
  const projects = new Projects(rath, 1);
  const busy = projects.hold(scope("busy"));
  const run = await busy.project.rath.run("slow", busy.project.rath.session("x"));
  busy.release();
  expect(() => projects.hold(scope("b"))).toThrow(/in use/);
  go();
  await run.result();
  await expect
    .poll(() => {
      try {
        projects.hold(scope("b")).release();
        return true;
      } catch {
        return false;
      }
    })
    .toBe(true);
  await projects.close();
});

test("many projects of a database have few connections together, and none afterwards", async () => {
  await using database = await freshDatabase();
  const connections = (): Promise<number> =>
    withClient(database.url, async (client) => {
      const { rows } = await client.query(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'openrath'",
      );
      return rows[0].n as number;
    });
  await using rath = openrath({ store: database.url });
  const projects = new Projects(rath, 40);
  await rath.ready();
  const own = await connections();
  const held = Array.from({ length: 15 }, (_, i) => projects.hold(scope(`p${i}`)));
  const sessions = await Promise.all(
    held.map(async ({ project }) => {
      await project.rath.memory.search("x");
      return project.rath.save(project.rath.session("Hello"));
    }),
  );
  expect((await connections()) - own).toBeLessThanOrEqual(12);
  for (const [i, one] of held.entries()) {
    expect((await one.project.rath.open(sessions[i]?.id ?? "")).text).toBe("");
    await expect(one.project.rath.open(sessions[(i + 1) % 15]?.id ?? "")).rejects.toMatchObject({ code: "session.not-found" });
    one.release();
  }
  await projects.close();
  await expect.poll(connections).toBeLessThanOrEqual(own);
  // The pool was closed with its last user: whoever comes next gets another.
  const again = new Projects(rath, 2);
  await again.hold(scope("p0")).project.rath.open(sessions[0]?.id ?? "");
  await again.close();
});

test("a store that was opened for one project answers for that alone", async () => {
  await using rath = openrath({ store: "memory" });
  expect(() => new Projects(rath, 2).hold(scope("a"))).toThrow(/answers for project default of default alone/);
});
