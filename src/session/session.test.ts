/** The value as its users hold it: identity, views, places in the past, pure functions of the head, and what is refused. */
import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { composeRath } from "../openrath.ts";
import { nodePlatform } from "../runtime/platform.ts";
import { memoryStore } from "../store/memory.ts";
import type { StoredEvent } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { Workflow } from "../workflow/workflow.ts";
import type { RathError } from "./errors.ts";
import type { Event } from "./event.ts";
import { type Platform, saltBytes } from "./platform.ts";
import type { Session } from "./session.ts";

const last = (session: Session): Event => [...session.events()].at(-1) as Event;
const texts = (session: Session): string[] => session.messages.map((message) => message.text);

describe("a session", () => {
  test("has its identity as own properties, and nothing else", () => {
    const session = testRath().session("hi");
    expect(Object.keys(session)).toStrictEqual(["id", "head", "step"]);
    expect(Reflect.ownKeys(session)).toStrictEqual(["id", "head", "step"]);
    expect(JSON.parse(JSON.stringify(session))).toStrictEqual({ id: session.id, head: session.head, step: 2 });
  });

  test("cannot be changed, nor can what it shows", async () => {
    const file = { type: "file" as const, mediaType: "text/plain", data: new URL("https://example.com/a") };
    const session = await testRath()
      .session([{ type: "text", text: "hi" }, file])
      .do("x", () => ({ list: [{ deep: 1 }] }));
    const [message] = session.messages;
    const event = last(session);
    const parts = [session, session.messages, message, message?.parts, ...(message?.parts ?? []), session.usage, session.usage.own];
    const shown = [...parts, session.output, session.output.list, session.output.list[0], event, event.data, event.parents, event.facts];
    for (const part of shown) expect(Object.isFrozen(part), inspect(part)).toBe(true);
    expect(() => {
      (session as { step: number }).step = 9;
    }).toThrow(TypeError);
    expect(() => (session.output.list as unknown[]).push(2)).toThrow(TypeError);
  });

  test("hands out bytes of one's own, wherever they are read", async () => {
    const store = memoryStore();
    const rath = testRath({ store });
    const image = { type: "file" as const, mediaType: "image/png", data: new Uint8Array([1, 2, 3]) };
    const made = await rath.session([image]).do("load", () => ({ list: [new Uint8Array([1, 2, 3])] }));
    await rath.save(made);
    const shown = (session: Session): Uint8Array[] => {
      const { list } = session.output as { readonly list: readonly Uint8Array[] };
      const [part] = session.messages[0]?.parts ?? [];
      return [
        list[0],
        (last(session).data as { value: { list: Uint8Array[] } }).value.list[0],
        (part as typeof image).data,
      ] as Uint8Array[];
    };
    await using again = testRath({ store });
    for (const session of [made, await again.open(made.id)]) {
      for (const bytes of shown(session)) bytes.reverse();
      expect(shown(session).map((bytes) => [...bytes])).toEqual(Array(3).fill([1, 2, 3]));
      expect([Object.isFrozen(session.output), Object.isFrozen((session.output as typeof made.output).list)]).toEqual([true, true]);
    }
    const plain = await rath.session("x").do("long", () => ({ text: "x".repeat(10_000), nan: Number.NaN }));
    expect(plain.output).toBe(plain.output);
  });

  test("never changes under whoever holds it", async () => {
    const session = testRath({ implicitForks: "allow" }).session("hi").to("local");
    const before = inspect([session.messages, session.status, session.step, session.placement, [...session.events()]], { depth: 9 });
    session.say("more").reject("no");
    await session.do("x", () => 1);
    await session.fork().merge(session.fork().say("there"));
    expect(inspect([session.messages, session.status, session.step, session.placement, [...session.events()]], { depth: 9 })).toBe(before);
  });

  test("prints as a few useful lines", async () => {
    const root = testRath().session("Fix the failing test", { title: "Nightly" });
    expect(String(root)).toBe(
      `Session ${root.id.slice(0, 13)} "Nightly" · step 2 · idle\n    1 session.created\n    2 user: Fix the failing test`,
    );
    let session = root.fork("try 1");
    for (let round = 0; round < 20; round++) session = await session.do(`round ${round}`, () => ({ ok: true, note: "x".repeat(500) }));
    session = session.say("line one\nline two").reject("too slow");
    const text = String(session);
    expect(text.split("\n").length).toBeLessThan(12);
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThan(160);
    expect(text).toContain(`Session ${session.id.slice(0, 13)} (try 1) "Fix the failing test"`);
    expect(text).toMatch(/rejected: too slow/);
    expect(text).toMatch(/do round 19 → ok \{"note":"xxx/);
    expect(text).toMatch(/user: line one line two/);
    expect(text).toMatch(/… \d+ earlier/);
    expect(inspect(session)).toBe(text);
    expect(inspect({ deep: { in: [session] } }, { depth: 5 })).toContain("too slow");
  });

  test("has no output before an effect and none after a failed one", async () => {
    const session = testRath().session("hi");
    expect(() => session.output).toThrow(expect.objectContaining({ code: "session.no-output" }));
    const failed = (await session.do("x", () => Promise.reject(new Error("boom"))).catch((error: RathError) => error.session)) as Session;
    expect(() => failed.output).toThrow(/"error"/);
    expect(failed).toMatchObject({ status: "failed", text: "" });
  });
});

describe("time, chance and ids", () => {
  test("are the same at the same head, and after reading it again", async () => {
    const store = memoryStore();
    const rath = testRath({ store });
    const session = await rath.save(rath.session("hi"));
    const again = await testRath({ store }).open(session.id);
    for (const same of [session, session.at(session.step), again]) {
      expect(same.now().toISOString()).toBe(last(session).at);
      expect(same.random("dice")).toBe(session.random("dice"));
      expect(same.uuid()).toBe(session.uuid());
    }
    expect(session.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("differ between labels, heads and sibling forks", () => {
    const session = testRath().session("hi");
    const values = [session, session.fork(), session.fork(), session.fork("a"), session.note("n")];
    expect(new Set(values.flatMap((value) => [value.random(), value.random("x"), value.uuid(), value.uuid("x")])).size).toBe(20);
  });

  test("spread evenly between 0 and 1", () => {
    const session = testRath().session("hi");
    const drawn = Array.from({ length: 2000 }, (_, index) => session.random(String(index)));
    expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true);
    for (let tenth = 0; tenth < 10; tenth++) expect(drawn.filter((value) => Math.floor(value * 10) === tenth).length).toBeGreaterThan(140);
  });
});

describe("the past", () => {
  test("is found by step and by event id, nested work included", async () => {
    const session = await testRath()
      .session("one")
      .say("two")
      .do("work", ({ session: inner }) => inner.say("inside").messages.length);
    expect(session.at(session.step)).toBe(session);
    expect(texts(session.at(2))).toStrictEqual(["one"]);
    for (const event of session.events())
      expect(session.at(event.id)).toMatchObject({ id: event.session, head: event.id, step: event.step });
    const inside = [...session.events()].find((event) => event.session !== session.id && event.kind === "message.added") as Event;
    expect(texts(session.at(inside.id))).toStrictEqual(["one", "two", "inside"]);
    expect([...session.events({ from: 2, to: 3 })].map((event) => event.step)).toStrictEqual([2, 3]);
  });

  test("has no place out of range", () => {
    const session = testRath().session("one");
    const ahead = session.fork().say("two");
    // Mutant: half a step is taken for the one before.
    for (const place of [0, -1, 1.5, 3, Number.NaN, Number.POSITIVE_INFINITY, "f".repeat(64), "no such id", ahead.head]) {
      expect(() => session.at(place), String(place)).toThrow(expect.objectContaining({ code: "session.not-found" }));
    }
  });

  test("can be forked, and the future stays as it was", async () => {
    const session = await testRath()
      .session("one")
      .say("two")
      .do("x", () => 1);
    const fork = session.at(2).fork("again").say("other");
    expect(texts(fork)).toStrictEqual(["one", "other"]);
    expect(fork.lineage).toStrictEqual({ kind: "fork", parents: [session.at(2).head], label: "again", implicit: false });
    expect(texts(session)).toStrictEqual(["one", "two"]);
    expect(() => fork.output).toThrow(/no output/);
  });
});

describe("verbs without effect", () => {
  test("note, link and to add what they say and keep the output", async () => {
    const session = (
      await testRath()
        .session("hi")
        .do("x", () => 7)
    )
      .note("look")
      .link({ system: "jira", id: "A-1", uri: undefined });
    expect([...session.events()].slice(-2).map(({ kind, data, by }) => ({ kind, data, by }))).toStrictEqual([
      { kind: "note.added", data: { text: "look" }, by: "user" },
      { kind: "record.linked", data: { system: "jira", id: "A-1" }, by: "user" },
    ]);
    const placed = session.to("docker", { image: "node:22", env: { A: "1" }, network: undefined });
    expect(placed.placement).toStrictEqual({ sandbox: "docker", image: "node:22", env: { A: "1" }, isolation: undefined, id: undefined });
    expect(session.placement).toBeUndefined();
    expect(placed.output).toBe(7);
    expect(texts(placed)).toStrictEqual(["hi"]);
  });

  test("detach begins a root with the same conversation, usage from zero and its origin on record", async () => {
    const session = await testRath()
      .session("hi")
      .to("local")
      .do("x", () => 7);
    const detached = session.detach();
    expect(detached.lineage).toMatchObject({ kind: "detach", parents: [session.head] });
    expect([...detached.events()]).toMatchObject([
      { kind: "session.detached", parents: [], step: 1, data: { from: { session: session.id, head: session.head } } },
    ]);
    expect(texts(detached.say("more"))).toStrictEqual(["hi", "more"]);
    expect(detached).toMatchObject({ output: 7, placement: { sandbox: "local" }, usage: { input: 0, usd: 0, own: { input: 0 } } });
    expect(detached.id).not.toBe(session.id);
    expect(session.reject("no").detach().status).toBe("idle");
  });

  test("reject marks this value; a fork of it and what is said later are no longer rejected", () => {
    const session = testRath().session("hi");
    const rejected = session.reject("wrong way");
    expect([session.status, rejected.status, rejected.note("why").status]).toStrictEqual(["idle", "rejected", "rejected"]);
    expect([rejected.fork().status, rejected.fork().say("go on").status]).toStrictEqual(["idle", "idle"]);
    expect(last(rejected)).toMatchObject({ kind: "session.rejected", data: { reason: "wrong way" } });
  });

  test("a session that was never placed has no files, and applies none", async () => {
    const session = testRath().session("hi");
    await expect(session.files.text("a.txt")).rejects.toMatchObject({ code: "workspace.not-found" });
    expect(await session.apply(".")).toEqual([]);
    expect(session.note("goes on").id).toBe(session.id);
  });
});

describe("using one value twice", () => {
  /** The warnings that come while it runs. */
  async function warnings(run: () => unknown): Promise<readonly Error[]> {
    const heard: Error[] = [];
    const hear = (warning: Error): void => void heard.push(warning);
    process.on("warning", hear);
    await run();
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", hear);
    return heard;
  }

  test("is an implicit fork, with a warning that names the place", async () => {
    const session = testRath().session("hi");
    let second = session;
    const heard = await warnings(() => {
      session.say("first");
      second = session.say("second");
    });
    expect(heard).toMatchObject([{ name: "OpenRathWarning", code: "OPENRATH_IMPLICIT_FORK" }]);
    expect(heard[0]?.message).toMatch(/session\.test\.ts:\d+:\d+/);
    expect(second.lineage).toMatchObject({ kind: "fork", implicit: true, parents: [session.head] });
    expect(texts(second)).toStrictEqual(["hi", "second"]);
  });

  test("names the place also when a workflow is called, with the stack that Node keeps", async () => {
    class Nothing extends Workflow {
      async forward(session: Session): Promise<Session> {
        return session;
      }
    }
    const session = testRath().session("hi");
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 10;
    const heard = await warnings(async () => {
      await session.do("x", () => 1);
      await new Nothing().forward(session);
    });
    Error.stackTraceLimit = limit;
    expect(heard.map((warning) => warning.message)).toStrictEqual([expect.stringMatching(/session\.test\.ts:\d+:\d+/)]);
  });

  test("by a workflow that returns what a call without await had continued: names both", async () => {
    class Forgot extends Workflow {
      async forward(session: Session): Promise<Session> {
        void session.do("mail", () => 1, { repeat: "safe" });
        return session;
      }
    }
    const rath = testRath({ workflows: { forgot: new Forgot() } });
    const heard = await warnings(async () => (await rath.run("forgot", rath.session("hi"))).settle());
    expect(heard).toMatchObject([
      {
        code: "OPENRATH_IMPLICIT_FORK",
        message: expect.stringMatching(
          /^Workflow "forgot" returned session \S+ at step 3, which do "mail" had continued already, perhaps without await:/,
        ),
      },
    ]);
  });

  test("is not said of a value used once that another process continued, or began to", async () => {
    const store = memoryStore();
    const [here, there] = [testRath({ store }), testRath({ store })];
    const { id } = await here.save(here.session("hi"));
    const mine = await here.open(id);
    let value = await there.open(id);
    await there.save(value.say("there"));
    await here.open(id);
    const place = /session\.test\.ts:\d+:\d+/;
    const code = "OPENRATH_CONTINUED_ELSEWHERE";
    const continued = await warnings(() => mine.say("here"));
    expect(continued).toMatchObject([{ code, message: expect.stringMatching(/^Another process, or an earlier one, continued session/) }]);
    expect(continued[0]?.message).toMatch(place);

    value = await there.open(id);
    let done = (): void => {};
    const working = value.do("work", () => new Promise<void>((resolve) => (done = resolve)), { repeat: "once" });
    await vi.waitFor(async () => expect((await here.open(id)).step).toBe(4));
    const began = await here.open(id);
    expect(await warnings(() => began.say("here"))).toMatchObject([
      { code, message: expect.stringMatching(/^What another process began on session \S+ at step 4 has no result yet/) },
    ]);
    done();
    await working;
  });

  test('is silent under "allow" and for labelled forks', async () => {
    const allowed = testRath({ implicitForks: "allow" }).session("hi");
    const labelled = testRath().session("hi");
    const heard = await warnings(() => [
      allowed.say("1"),
      allowed.say("2"),
      labelled.fork("a").say("1"),
      labelled.fork("b").say("2"),
      labelled.say("3"),
    ]);
    expect(heard).toStrictEqual([]);
  });

  test('is refused under "error", and the first use goes on', async () => {
    const session = testRath({ implicitForks: "error" }).session("hi");
    const first = session.say("1");
    expect(() => session.say("2")).toThrow(expect.objectContaining({ code: "session.implicit-fork" }));
    await expect(session.do("x", () => 1)).rejects.toMatchObject({ code: "session.implicit-fork" });
    expect(texts(session.fork("b").say("3"))).toStrictEqual(["hi", "3"]);
    expect((await first.do("x", () => 1)).id).toBe(session.id);
  });
});

describe("an erased four-digit PIN", () => {
  /** Says a PIN, deletes its data by hand, and gives everything that is left: what a thief of the store has. */
  async function erased(
    platform: Platform,
  ): Promise<{ readonly pin: string; readonly left: readonly StoredEvent[]; readonly session: Session }> {
    const store = memoryStore();
    const rath = composeRath({ store }, { platform });
    const pin = "4711";
    const told = await rath.session(pin).do("login", () => "ok");
    await rath.save(told);
    const said = [...told.events()].find((event) => event.kind === "message.added") as Event;
    await store.erase?.([said.id], "e".repeat(64));
    const left: StoredEvent[] = [];
    for await (const { id } of store.sessions({})) for await (const event of store.events({ session: id })) left.push(event);
    return { pin, left, session: await testRath({ store }).open(told.id) };
  }

  /** Every PIN against every digest that is left: as it was hashed, bare, and behind a salt the thief knows. */
  function bruteForce(left: readonly StoredEvent[]): string | undefined {
    const digests = new Set(
      left.flatMap((event) => [
        event.id,
        ...(Buffer.from(event.envelope)
          .toString()
          .match(/[0-9a-f]{64}/g) ?? []),
      ]),
    );
    for (let guess = 0; guess < 10_000; guess++) {
      const pin = String(guess).padStart(4, "0");
      const data = `{"parts":[{"text":"${pin}","type":"text"}],"role":"user"}`;
      const salts = [new Uint8Array(saltBytes), new Uint8Array()];
      if (digests.has(nodePlatform.sha256(pin))) return pin;
      for (const salt of salts) if (digests.has(nodePlatform.sha256(Buffer.concat([salt, Buffer.from(data)])))) return pin;
    }
    return undefined;
  }

  test("is not found by trying all of them, and the session still reads", async () => {
    const { pin, left, session } = await erased(nodePlatform);
    expect(left.length).toBeGreaterThan(3);
    // Quoted, as every stored text is: four bare digits stand in a hash by chance now and then.
    expect(left.some((event) => Buffer.concat([event.envelope, event.data ?? Buffer.alloc(0)]).includes(`"${pin}"`))).toBe(false);
    expect(bruteForce(left)).toBeUndefined();
    expect(texts(session)).toStrictEqual(["[erased]"]);
    expect(session.output).toBe("ok");
    expect(String(session)).toContain("message.added [erased]");
  });

  test("is found at once under the mutant without salt", async () => {
    const unsalted: Platform = { ...nodePlatform, salted: (text) => Buffer.concat([new Uint8Array(saltBytes), Buffer.from(text)]) };
    const { pin, left } = await erased(unsalted);
    expect(bruteForce(left)).toBe(pin);
  });
});
