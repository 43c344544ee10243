import { describe, expect, test } from "vitest";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { LogQuery, Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { Workflow } from "../workflow/workflow.ts";
import { grep } from "./grep.ts";

/** A store that notes which logs are asked for, and how often the row of each was read. */
function noting(): { store: Store; queries: LogQuery[]; read: Map<string, number> } {
  const kept = memoryStore();
  const queries: LogQuery[] = [];
  const read = new Map<string, number>();
  const sessions: Store["sessions"] = async function* (query) {
    queries.push(query);
    for await (const row of kept.sessions(query)) {
      read.set(row.id, (read.get(row.id) ?? 0) + 1);
      yield row;
    }
  };
  return { store: { ...kept, sessions }, queries, read };
}

async function found(session: Session): Promise<string[]> {
  const excerpts: string[] = [];
  for await (const { excerpt } of grep(session, "needle")) excerpts.push(excerpt);
  return excerpts.sort();
}

const stored = (session: Session): Promise<Session> => session.do("note", () => "noted");

describe("the logs of a session", () => {
  test("are found with a few questions, however many branches there are", async () => {
    const { store, queries, read } = noting();
    await using rath = testRath({ store });
    const root = await stored(rath.session("needle 0"));
    const leaves: Session[] = [];
    for (let n = 1; n <= 20; n++) {
      const fork = await stored(root.fork(`fork ${n}`).say(`needle ${n}`));
      leaves.push(await stored(fork.fork("deeper").say(`needle ${n} deeper`)));
    }
    await stored(rath.session("needle of somebody else"));
    queries.length = 0;
    read.clear();
    const expected = ["needle 0", ...leaves.flatMap((_, n) => [`needle ${n + 1}`, `needle ${n + 1} deeper`])].sort();
    expect(await found(root)).toEqual(expected);
    expect(queries.length).toBeLessThan(10);
    expect(Math.max(...read.values())).toBe(1);
    expect(await found(leaves[7] as Session)).toEqual(expected);
  });

  test("are read once where a run wrote them, and those that others forked from them too", async () => {
    class Branching extends Workflow {
      async forward(session: Session): Promise<Session> {
        let line = session;
        for (let n = 0; n < 20; n++) {
          const branch = await stored(line.fork(`branch ${n}`).say(`needle ${n}`));
          line = await line.say("meanwhile").merge(branch);
        }
        return line;
      }
    }
    const { store, queries, read } = noting();
    await using rath = testRath({ store });
    const session = await (await rath.run(new Branching(), rath.session("Begin"))).result();
    const own = [...(await found(session))];
    expect(own).toHaveLength(20);
    const branch = [...session.events()].find((event) => event.session !== session.id)?.session as string;
    await stored((await rath.open(branch)).fork("later").say("needle of a later fork"));
    queries.length = 0;
    read.clear();
    expect(await found(session)).toEqual([...own, "needle of a later fork"].sort());
    expect(queries.length).toBeLessThan(10);
    // Only the log of the session itself is asked for by its name, and given again as one of the run's.
    expect([...read.values()].filter((times) => times > 1).length).toBeLessThanOrEqual(1);
  });

  test("are not those that left it after the place", async () => {
    await using rath = testRath();
    const early = await stored(rath.session("needle 0"));
    await stored(early.fork("in time").say("needle in time"));
    const late = await stored(early.say("needle later"));
    await stored(late.fork("too late").say("needle too late"));
    expect(await found(early)).toEqual(["needle 0", "needle in time"]);
    expect(await found(late)).toEqual(["needle 0", "needle in time", "needle later", "needle too late"]);
  });
});
