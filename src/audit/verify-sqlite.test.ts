import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openrath } from "../openrath.ts";
import type { Rath } from "../runtime/rath.ts";
import type { Session } from "../session/session.ts";
import { sealFrame } from "../store/frame.ts";
import { Workflow } from "../workflow/workflow.ts";
import { verify } from "./verify.ts";

class Work extends Workflow {
  async forward(session: Session): Promise<Session> {
    const done = await session.do("work", () => "a long text ".repeat(800));
    return done.do("end", () => "x");
  }
}

interface Row {
  readonly place: number;
  readonly writer: number;
  readonly body: Buffer;
}

describe("verify on a SQLite file that somebody changed", () => {
  let rath: Rath;
  let session: Session;
  let file: string;

  beforeEach(async () => {
    file = join(await mkdtemp(join(tmpdir(), "openrath-verify-")), "store.db");
    rath = openrath({ store: file });
    session = await new Work().forward(await rath.session("Hello").do("first", () => 1));
  });
  // Closing brings the index of ids up to date and says so when it meets what was damaged.
  afterEach(async () => {
    await rath.close().catch(() => {});
    await rm(dirname(file), { recursive: true, force: true });
  });

  /** Changes the file through a connection of its own. */
  function change(apply: (database: Database.Database, last: Row, log: number) => unknown): void {
    const database = new Database(file);
    const { no } = database.prepare("SELECT no FROM logs WHERE id = ?").get(session.id) as { readonly no: number };
    const last = database
      .prepare("SELECT * FROM frames WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1")
      .get(no * 2 ** 24, (no + 1) * 2 ** 24) as Row;
    apply(database, last, no);
    database.close();
  }

  const text = async (): Promise<string> => (await verify(session)).problems.map((one) => `${one.event}: ${one.problem}`).join("\n");

  it("finds nothing wrong before", async () => {
    expect(await verify(session)).toMatchObject({ ok: true, problems: [], unsigned: 0 });
  });

  it("names the log of a frame with a flipped bit", async () => {
    change((database, { place, body }) => {
      body[body.length - 1] = (body.at(-1) as number) ^ 1;
      database.prepare("UPDATE frames SET body = ? WHERE place = ?").run(body, place);
    });
    expect(await text()).toMatch(new RegExp(`${session.id}: it cannot be read: .*checksum`));
  });

  it("names the event whose data was changed under a checksum that holds", async () => {
    change((database, { place, writer, body }) => {
      body[body.length - 1] = (body.at(-1) as number) ^ 1;
      const { run } = database.prepare("SELECT run FROM writers WHERE no = ?").get(writer) as { readonly run: string };
      sealFrame(body, { session: session.id, run, seq: place % 2 ** 24 });
      database.prepare("UPDATE frames SET body = ? WHERE place = ?").run(body, place);
    });
    expect(await text()).toContain(`${session.head}: its data or salt was changed`);
  });

  it("names the head when the last events were deleted", async () => {
    change((database, { place }) => database.prepare("DELETE FROM frames WHERE place = ?").run(place));
    expect(await text()).toContain(`${session.head}: the head of session ${session.id} is missing`);
  });

  it("names the event whose blob was changed or deleted", async () => {
    change((database) => database.prepare("UPDATE blobs SET deflated = 0, body = ?").run(Buffer.from("something else")));
    expect(await text()).toMatch(/[0-9a-f]{64}: blob [0-9a-f]{64} cannot be read: .*another hash/);
    change((database) => database.prepare("DELETE FROM blobs").run());
    expect(await text()).toMatch(/[0-9a-f]{64}: blob [0-9a-f]{64} is missing/);
  });
});
