import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import canonicalize from "canonicalize";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { composeRath, openrath } from "../openrath.ts";
import { Key } from "../runtime/key.ts";
import type { Rath } from "../runtime/rath.ts";
import { replay } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { Workflow } from "../workflow/workflow.ts";
import { write } from "./audit.ts";
import { readLines } from "./export/lines.ts";
import { verify } from "./verify.ts";

class Report extends Workflow {
  async forward(session: Session): Promise<Session> {
    const [draft, other] = await Promise.all([
      session.fork("long").do("draft", () => "words ".repeat(1000)),
      session.fork("short").do("draft", () => new Uint8Array([255, 254, 0])),
    ]);
    other.reject("too short");
    const asked = await draft.ask("Publish it?");
    return asked.do("publish", () => ({ $: "blob", hash: "mine", __proto__: null, text: 'ü\u2028"\\' }));
  }
}

const key = new Key(undefined);
let folder: string;
let rath: Rath;
let store: Store;
let session: Session;
let text: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-bundle-"));
  store = memoryStore();
  rath = composeRath({ store, implicitForks: "allow" }, { openKey: async () => key });
  await rath.save(rath.session("A secret of somebody else"));
  await rath.session("Another one").do("work", () => "unrelated");
  const begun = await rath.session("Write a report", { title: "Report", tags: ["b", "a"], principal: "p7" }).do("prepare", () => 1);
  const run = await rath.run(new Report(), begun, { key: "report-1" });
  const settled = await run.settle();
  if (settled.status !== "waiting") throw new Error(settled.status);
  await rath.decide(settled.pending[0]?.id as string, { by: "p1", answer: "yes" });
  session = await run.result();
  await write(session, join(folder, "a.jsonl"));
  text = await readFile(join(folder, "a.jsonl"), "utf8");
});
afterAll(async () => {
  await rath.close();
  await rm(folder, { recursive: true });
});

async function* streamed(content: string | Uint8Array, size = 1 << 16): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("a bundle", () => {
  it("is canonical JSON line by line, and begins with what it holds", () => {
    const lines = text.trimEnd().split("\n");
    for (const line of lines) expect(canonicalize(JSON.parse(line))).toBe(line);
    const count = (part: string): number => lines.filter((line) => Object.hasOwn(JSON.parse(line), part)).length;
    expect(JSON.parse(lines[0] as string)).toEqual({
      format: "openrath.bundle",
      version: 1,
      session: session.id,
      head: session.head,
      logs: count("log"),
      runs: 1,
      events: count("envelope"),
      blobs: 2,
    });
    expect(count("blob")).toBe(2);
  });

  it("holds losing branches, answers and the run, and nothing of unrelated sessions", () => {
    expect(text).toContain("too short");
    expect(text).toContain('"kind":"answer.given"');
    expect(text).toContain('"key":"report-1"');
    expect(text).not.toContain("secret");
    expect(text).not.toContain("unrelated");
  });

  it("gives the same session in another store, and the same bytes when it is written again", async () => {
    for (const target of ["memory", join(folder, "other.db")]) {
      await using other = openrath({ store: target });
      const same = await other.import(join(folder, "a.jsonl"));
      expect(same.toJSON()).toEqual(session.toJSON());
      expect(same.output).toEqual(session.output);
      expect(same.messages).toEqual(session.messages);
      expect([...same.events()]).toEqual([...session.events()]);
      await write(same, join(folder, "b.jsonl"));
      expect(await readFile(join(folder, "b.jsonl"), "utf8")).toBe(text);
      expect(await replay(same, new Report())).toMatchObject({ identical: true });
      expect(
        await (await other.attach(JSON.parse(text.split("\n").find((line) => line.includes("report-1")) as string).run)).status(),
      ).toBe("done");
    }
  });

  it("is as verifiable there as here, for whoever trusts the key", async () => {
    await using other = openrath({ store: "memory" });
    const same = await other.import(join(folder, "a.jsonl"));
    expect(await verify(same, { keys: [key.id] })).toMatchObject({ ok: true, unsigned: 0 });
    expect(await verify(same)).toMatchObject({ ok: false, problems: [], unknownKeys: [key.id] });
    expect(await verify(session)).toMatchObject({ ok: true, problems: [] });
  });

  it("can be a folder with its blobs beside it", async () => {
    await write(session, join(folder, "bundle"), { format: "bundle" });
    const hashes = await readdir(join(folder, "bundle", "blobs"));
    expect(hashes).toHaveLength(2);
    for (const hash of hashes)
      expect(
        createHash("sha256")
          .update(await readFile(join(folder, "bundle", "blobs", hash)))
          .digest("hex"),
      ).toBe(hash);
    await using other = openrath({ store: "memory" });
    await write(await other.import(join(folder, "bundle")), join(folder, "c.jsonl"));
    expect(await readFile(join(folder, "c.jsonl"), "utf8")).toBe(text);
    await expect(other.import(join(folder, "bundle", "session.jsonl"))).rejects.toThrow(/lies in a folder: import the folder/);
  });

  it("refuses a folder whose blobs are missing, changed or links", async () => {
    await using other = openrath({ store: "memory" });
    await write(session, join(folder, "broken"));
    const [first = "", second = ""] = await readdir(join(folder, "broken", "blobs"));
    const lost = join(folder, "lost");
    await cp(join(folder, "broken"), lost, { recursive: true });
    await rm(join(lost, "blobs", first));
    await expect(other.import(lost)).rejects.toThrow(new RegExp(`blob ${first} is missing`));
    await symlink(join(folder, "broken", "blobs", first), join(lost, "blobs", first));
    await expect(other.import(lost)).rejects.toThrow(new RegExp(`blob ${first} is missing`));
    const bytes = await readFile(join(folder, "broken", "blobs", second));
    await writeFile(join(folder, "broken", "blobs", second), bytes.fill(1, 0, 1));
    await expect(other.import(join(folder, "broken"))).rejects.toThrow(new RegExp(`blob ${second} was changed`));
  });

  it("comes from a stream in pieces of any size", async () => {
    for (const size of [1, 7, 100_000]) {
      await using other = openrath({ store: "memory" });
      expect((await other.import(streamed(text, size))).head).toBe(session.head);
    }
    await using other = openrath({ store: "memory" });
    expect((await other.import(createReadStream(join(folder, "a.jsonl")))).head).toBe(session.head);
  });

  it("adds nothing when it is there already, and the rest where a prefix is", async () => {
    const before: string[] = [];
    for await (const { id, head } of store.sessions({})) before.push(`${id} ${head}`);
    expect((await rath.import(join(folder, "a.jsonl"))).head).toBe(session.head);
    const after: string[] = [];
    for await (const { id, head } of store.sessions({})) after.push(`${id} ${head}`);
    expect(after).toEqual(before);

    await using other = openrath({ store: "memory", implicitForks: "allow" });
    await write(session.at(3), join(folder, "prefix.jsonl"));
    const early = await other.import(join(folder, "prefix.jsonl"));
    expect(early.step).toBe(3);
    const more = await session.do("more", () => "m");
    await write(more, join(folder, "more.jsonl"));
    expect((await other.import(join(folder, "more.jsonl"))).output).toBe("m");
  });

  it("refuses a session that goes on differently here, and loses nothing", async () => {
    await using other = openrath({ store: "memory" });
    const begun = await rath.save(rath.session("common"));
    await write(begun, join(folder, "begun.jsonl"));
    const here = await (await other.import(join(folder, "begun.jsonl"))).do("here", () => 1);
    await write(await begun.do("there", () => 2), join(folder, "there.jsonl"));
    const failed = await other.import(join(folder, "there.jsonl")).catch((error: unknown) => error);
    expect(RathError.is(failed, "store.conflict")).toBe(true);
    expect(String(failed)).toMatch(/goes on differently in this store from step 3/);
    expect((await other.open(here.id)).head).toBe(here.head);
  });

  it("holds a run that is still going on, with a statement of how far it is", async () => {
    const file = join(folder, "open.jsonl");
    class Exporting extends Workflow {
      async forward(given: Session): Promise<Session> {
        const first = await given.do("one", () => 1);
        await write(first, file);
        await write(first, `${file}.again.jsonl`);
        return first;
      }
    }
    const ended = await new Exporting().forward(rath.session("open"));
    await using other = openrath({ store: "memory" });
    const same = await other.import(file);
    expect(await verify(same, { keys: [key.id] })).toMatchObject({ ok: true, unsigned: 0 });
    expect(await readFile(file)).toEqual(await readFile(`${file}.again.jsonl`));
    expect(await verify(ended)).toMatchObject({ ok: true, problems: [] });
  });

  it("keeps erased data erased", async () => {
    const erasing = memoryStore();
    await using other = openrath({ store: erasing });
    const same = await other.import(join(folder, "a.jsonl"));
    const message = [...same.events()].find((event) => event.kind === "message.added");
    await other.erase({ events: [message?.id as string] }, { by: "human:ada", reason: "asked to" });
    await write(same, join(folder, "erased.jsonl"));
    expect(await readFile(join(folder, "erased.jsonl"), "utf8")).not.toContain("Write a report");
    await using third = openrath({ store: "memory" });
    const again = await third.import(join(folder, "erased.jsonl"));
    expect(again.messages[0]?.text).toBe("[erased]");
    expect(await verify(again, { keys: [key.id] })).toMatchObject({ ok: true });
  });

  it("refuses formats that there are none of, by name", async () => {
    const failed = await write(session, join(folder, "x"), { format: "pdf" as "html" }).catch((error: unknown) => error);
    expect(RathError.is(failed, "value.unsupported")).toBe(true);
    expect(String(failed)).toContain('"pdf"');
  });
});

describe("a bundle that is not what it should be", () => {
  type Fields = Record<string, unknown>;
  /** Changes one line as an object; the line is written canonically again. */
  const edited = (matches: (line: Fields) => boolean, edit: (line: Fields) => Fields | undefined): string => {
    let done = false;
    return text
      .trimEnd()
      .split("\n")
      .flatMap((line) => {
        const fields = JSON.parse(line) as Fields;
        if (done || !matches(fields)) return [line];
        done = true;
        const next = edit(fields);
        return next === undefined ? [] : [canonicalize(next) as string];
      })
      .join("\n");
  };
  const isKind = (kind: string) => (line: Fields) => (line["envelope"] as Fields | undefined)?.["kind"] === kind;
  const rehashed = (line: Fields, envelope: Fields): Fields => ({
    ...line,
    envelope: { ...(line["envelope"] as Fields), ...envelope },
    id: createHash("sha256")
      .update(canonicalize({ ...(line["envelope"] as Fields), ...envelope }) as string)
      .digest("hex"),
  });
  const raw = (change: (line: string) => string) =>
    text
      .split("\n")
      .map((line, index) => (index === 12 ? change(line) : line))
      .join("\n");
  const header = (edit: Fields) =>
    edited(
      (line) => "format" in line,
      (line) => ({ ...line, ...edit }),
    );

  const cases: [string, () => string, RegExp, string?][] = [
    ["is empty", () => "", /line 1\): it is empty/],
    ["is no JSON", () => "hello\n", /line 1\): the line is not JSON/],
    ["is a JSON list", () => "[1]\n", /line 1\): the line is not a JSON object/],
    ["is another format", () => '{"format":"zip"}\n', /line 1, field "format"\): it is not an OpenRath bundle/],
    ["is of a newer version", () => header({ version: 2 }), /line 1, field "version"\): it has version 2.*update openrath/],
    ["has white space", () => raw((line) => line.replace(":", ": ")), /line 13\): the line is not canonical JSON/],
    ["has a key twice", () => raw((line) => line.replace(/^\{/, '{"order":7,')), /line 13\): the line is not canonical JSON/],
    ["has -0", () => raw((line) => line.replace(/"order":\d+/, '"order":-0')), /line 13\): the line is not canonical JSON/],
    [
      "has a big integer",
      () => raw((line) => line.replace(/"order":\d+/, '"order":12345678901234567890')),
      /line 13\): the line is not canonical JSON/,
    ],
    [
      "has a lone surrogate",
      () => raw((line) => line.replace(/"order":\d+/, '"order":"\\ud800"')),
      /line 13\): the line is not canonical JSON/,
    ],
    ["has an unknown field", () => edited(isKind("do.called"), (line) => ({ ...line, extra: 1 })), /field "extra"/],
    ["has a line of no sort", () => `${text}{"x":1}\n`, /neither a log, a run, an event nor a blob/],
    [
      "has an unknown kind",
      () => edited(isKind("do.called"), (line) => rehashed(line, { kind: "future.happened" })),
      /field "envelope.kind".*"future.happened" is not known/,
      "event.unknown-kind",
    ],
    [
      "has a newer version of a kind",
      () => edited(isKind("do.called"), (line) => rehashed(line, { version: 9 })),
      /field "envelope.version".*version 9/,
      "event.newer-version",
    ],
    [
      "has a wrong id",
      () => edited(isKind("do.called"), (line) => ({ ...line, envelope: { ...(line["envelope"] as Fields), by: "me" } })),
      /field "id".*its envelope was changed/,
    ],
    [
      "has changed data",
      () =>
        edited(isKind("message.added"), (line) => ({ ...line, data: { parts: [{ text: "Write a lie", type: "text" }], role: "user" } })),
      /field "data".*its data or salt was changed/,
    ],
    [
      "has a changed salt",
      () => edited(isKind("message.added"), (line) => ({ ...line, salt: "00".repeat(16) })),
      /field "data".*its data or salt was changed/,
    ],
    ["has data without salt", () => edited(isKind("message.added"), ({ salt: _, ...line }) => line), /field "salt"/],
    [
      "has a field of another shape",
      () => edited(isKind("message.added"), (line) => ({ ...line, envelope: { ...(line["envelope"] as Fields), step: "2" } })),
      /field "envelope.step"/,
    ],
    [
      "has data of another shape",
      () =>
        edited(isKind("do.called"), (line) => {
          const data = { name: 7, repeat: "once" };
          const salted = Buffer.concat([Buffer.from(line["salt"] as string, "hex"), Buffer.from(canonicalize(data) as string)]);
          return { ...rehashed(line, { data: createHash("sha256").update(salted).digest("hex") }), data };
        }),
      /field "data.name"/,
    ],
    [
      "has prototype keys",
      () =>
        edited(
          isKind("message.added"),
          (line) => JSON.parse(JSON.stringify(line).replace('"data":{', '"data":{"__proto__":{"polluted":true},')) as Fields,
        ),
      /line \d+, field "data"/,
    ],
    [
      "lacks a parent",
      () =>
        header({ events: countOf("envelope") - 1 })
          .split("\n")
          .flatMap((line) =>
            line.includes('"kind":"session.created"')
              ? []
              : [
                  line.includes('"title":"Report"') && line.includes('"log":')
                    ? line.replace(/"events":(\d+)/, (_, n) => `"events":${Number(n) - 1}`)
                    : line,
                ],
          )
          .join("\n"),
      /field "(envelope.parents|head|envelope.kind|parent)"/,
    ],
    [
      "lacks a blob",
      () =>
        `${header({ blobs: 1 })
          .split("\n")
          .filter((line) => !line.startsWith('{"base64"'))
          .join("\n")}\n`,
      /field "data".*blob [0-9a-f]{64} is missing/,
    ],
    [
      "has a blob of another hash",
      () =>
        edited(
          (line) => "base64" in line,
          (line) => ({ ...line, base64: "AAAA" }),
        ),
      /blob [0-9a-f]{64} was changed/,
    ],
    [
      "has a blob of another length",
      () =>
        edited(
          (line) => "base64" in line,
          (line) => ({ ...line, base64: "AAAAAAAA" }),
        ),
      /field "bytes"/,
    ],
    [
      "has a blob that leads elsewhere",
      () =>
        edited(
          (line) => "base64" in line,
          (line) => ({ ...line, blob: "../../etc/passwd" }),
        ),
      /field "blob".*64 lower-case hex/,
    ],
    [
      "has a blob that nobody names",
      () =>
        edited(
          (line) => "format" in line,
          (line) => ({ ...line, blobs: 3 }),
        ).concat(`\n{"blob":"${createHash("sha256").update("x").digest("hex")}","bytes":1,"text":"x"}\n`),
      /no event names blob/,
    ],
    [
      "has events out of order",
      () => {
        const lines = text.split("\n");
        const at = lines.findIndex((line) => line.includes('"kind":"session.created"'));
        [lines[at], lines[at + 1]] = [lines[at + 1] as string, lines[at] as string];
        return lines.join("\n");
      },
      /field "envelope.(kind|parents)"/,
    ],
    [
      "has another order of delivery",
      () => edited(isKind("ask.returned"), (line) => ({ ...line, order: 3 })),
      /field "order"|data.statement/,
    ],
    ["is cut off inside a line", () => text.slice(0, text.length / 2), /is not JSON, or it was cut off/],
    [
      "is cut off between lines",
      () => text.split("\n").slice(0, 20).join("\n"),
      /line 1, field "\w+"\): it is truncated: its header counts \d+ \w+, it holds \d+/,
    ],
    ["has another head", () => header({ head: "0".repeat(64) }), /the head of session .* is missing/],
    ["repeats a line", () => `${text}${text.trimEnd().split("\n").at(-1)}\n`, /it repeats line \d+/],
    [
      "has a log under another parent",
      () =>
        edited(
          (line) => "parent" in line,
          (line) => ({ ...line, parent: "elsewhere" }),
        ),
      /field "parent"/,
    ],
    [
      "has another title than its first event",
      () =>
        edited(
          (line) => line["title"] === "Report",
          (line) => ({ ...line, title: "Approved" }),
        ),
      /field "title".*its title is "Approved", its first event says "Report"/,
    ],
    [
      "has a tag that its first event has not",
      () =>
        edited(
          (line) => line["title"] === "Report",
          (line) => ({ ...line, tags: ["a", "b", "c"] }),
        ),
      /field "tags".*its first event says \["b","a"\]/,
    ],
    [
      "has a principal on a fork, which begins with none",
      () =>
        edited(
          (line) => "log" in line && "parent" in line,
          (line) => ({ ...line, principal: "root" }),
        ),
      /field "principal".*its first event says not given/,
    ],
    [
      "has a run that is marked otherwise than it ended",
      () =>
        edited(
          (line) => "workflow" in line,
          (line) => ({ ...line, status: "failed" }),
        ),
      /field "status".*marked failed but it ended as done/,
    ],
  ];
  const countOf = (part: string): number =>
    text
      .trimEnd()
      .split("\n")
      .filter((line) => Object.hasOwn(JSON.parse(line), part)).length;

  for (const [name, make, problem, code = "bundle.invalid"] of cases) {
    it(`is refused by line and field when it ${name}, and nothing is written`, async () => {
      const empty = memoryStore();
      await using other = openrath({ store: empty });
      const failed = await other.import(streamed(make())).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(Error);
      expect((failed as Error).message).toMatch(problem);
      expect((failed as RathError).code).toBe(code);
      for await (const row of empty.sessions({})) expect(row).toBeUndefined();
      expect(({} as Fields)["polluted"]).toBeUndefined();
    });
  }

  it("is refused when one line is too long, before it is all in memory", async () => {
    const lines = readLines(streamed("x".repeat(1000), 10), 100);
    await expect(lines.next()).rejects.toThrow(/Line 1 is longer than 100 bytes/);
  });

  it("is refused when there is no file, or a folder of something else", async () => {
    await expect(rath.import(join(folder, "nowhere"))).rejects.toThrow(/There is no bundle at/);
    await expect(rath.import(folder)).rejects.toThrow(/import bundles one by one/);
  });
});
