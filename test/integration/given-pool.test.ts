/** A Rath and its worker on a pool of the caller's own, which has little room. */
import pg from "pg";
import { expect, test } from "vitest";
import { Workflow } from "../../src/index.ts";
import { openrath } from "../../src/openrath.ts";
import type { Session } from "../../src/session/session.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { ownSchemas } from "../support/postgres.ts";

let url = "";
const schema = ownSchemas((shared) => {
  url = shared;
});

class Greet extends Workflow {
  override async forward(session: Session): Promise<Session> {
    return session.do("greet", () => "hello", { repeat: "safe" });
  }
}

test.each([1, 2])("a queued run is done by a worker on a pool of %i, which is told what that costs", async (max) => {
  const pool = new pg.Pool({ connectionString: url, max });
  const warnings: string[] = [];
  const hear = ({ message }: Error): void => {
    if (message.startsWith("The pool that was given")) warnings.push(message);
  };
  process.on("warning", hear);
  const rath = openrath({ store: postgresStore(pool, { schema: schema() }), workflows: { greet: new Greet() } });
  const end = new AbortController();
  try {
    const run = await rath.run("greet", rath.session("one"), { queue: true });
    const working = rath.work({ signal: end.signal });
    expect((await run.settle()).status).toBe("done");
    end.abort();
    await working;
    expect(warnings).toEqual(max === 1 ? [expect.stringContaining("room for one connection")] : []);
  } finally {
    end.abort();
    process.off("warning", hear);
    await rath.close();
    await pool.end();
  }
});
