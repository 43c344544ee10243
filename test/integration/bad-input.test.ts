/** Bad input through the public API: a typed error that names the field, or stored faithfully; never silently changed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { write } from "../../src/audit/audit.ts";
import { type Content, openrath, type Rath, RathError, rerun, type Session, tool, verify, Workflow } from "../../src/index.ts";
import { all } from "../support/memory.ts";

const memory = (): Rath => openrath({ store: "memory", implicitForks: "allow" });

/** What something fails with, thrown or rejected. */
async function failing(run: () => unknown): Promise<RathError> {
  try {
    await run();
  } catch (error) {
    if (RathError.is(error)) return error;
    throw new Error(`not a typed error: ${String(error)}`, { cause: error });
  }
  throw new Error("nothing failed");
}

/** The same, and it does not throw before there is a promise to catch it with. */
function rejecting(run: () => Promise<unknown>): Promise<RathError> {
  const promise = run();
  return failing(() => promise);
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-bad-input-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

class Flow extends Workflow {
  readonly name = "flow";
  readonly #run: (session: Session) => unknown;
  constructor(run: (session: Session) => unknown) {
    super();
    this.#run = run;
  }
  async forward(session: Session): Promise<Session> {
    return (await this.#run(session)) as Session;
  }
}

describe("an effect that returns what the log cannot keep", () => {
  class Money {
    readonly cents = 5;
  }
  const cyclic: Record<string, unknown> = {};
  cyclic["me"] = cyclic;
  const cases: readonly (readonly [string, unknown])[] = [
    ["big integer", 2n ** 64n],
    ["Date", new Date(Number.NaN)],
    ["Map", new Map([["a", 1]])],
    ["Set", new Set([1])],
    ["function", () => 1],
    ["symbol", Symbol("s")],
    ["class instance", new Money()],
    ["cyclic value", cyclic],
    // biome-ignore lint/suspicious/noSparseArray: the hole is the point
    ["sparse array", [1, , 2]],
    ["lone surrogate in a key", { "\udc00": 1 }],
    ["Error", new Error("x")],
  ];

  test.each(cases)("fails by name for a %s, and the session goes on", async (_name, bad) => {
    const session = memory().session("go");
    const error = await rejecting(() => session.do("work", () => ({ fine: 1, list: [{ bad }] }) as unknown));
    expect(error.message).toContain("value.list[0].bad");
    expect(error.session?.status).toBe("failed");
    const next = await (error.session as Session).do("again", () => "better");
    expect(next).toMatchObject({ id: session.id, output: "better", status: "idle" });
    expect(await verify(next)).toMatchObject({ ok: true });
  });

  test.each(cases)("refuses a %s as input before anything runs", async (_name, bad) => {
    const session = memory().session("go");
    let ran = false;
    const error = await rejecting(() => session.do("work", () => (ran = true), { input: { bad } }));
    expect([error.code, error.details["field"], ran]).toStrictEqual(["value.unsupported", expect.stringContaining("input.bad"), false]);
    expect((await session.do("work", () => 1)).id).toBe(session.id);
  });
});

describe("stored faithfully", () => {
  const odd = {
    zero: -0,
    nan: Number.NaN,
    far: Number.NEGATIVE_INFINITY,
    gone: undefined,
    list: [undefined, null],
    half: "a\ud800b",
    $: "blob",
    10: "ten",
    9: "nine",
    bytes: new Uint8Array([0, 255]),
    ["__proto__"]: "own",
  };

  test.each(["memory", "sqlite"])("odd values come back the same from %s, in this process and another", async (kind) => {
    const store = kind === "memory" ? "memory" : join(folder, "odd.db");
    await using rath = openrath({ store });
    const session = await rath.session("\udfff alone").do("odd", () => odd, { input: odd });
    await rath.save(session);
    const opened = kind === "memory" ? await copyOf(session) : await openrath({ store }).open(session.id);
    for (const same of [session, opened]) {
      expect(same.output).toStrictEqual(odd);
      expect(Object.getOwnPropertyNames(same.output).sort()).toStrictEqual(Object.getOwnPropertyNames(odd).sort());
      expect(same.messages[0]?.text).toBe("\udfff alone");
    }
    expect(await verify(opened)).toMatchObject({ ok: true });
  });

  async function copyOf(session: Session): Promise<Session> {
    await write(session, join(folder, "copy.jsonl"));
    return memory().import(join(folder, "copy.jsonl"));
  }

  test.each(["memory", "sqlite"])("a string of 50 MB is read back identically from %s", async (kind) => {
    const text = "0123456789äöü€😀 line\n".repeat(2_400_000).slice(0, 50 * 2 ** 20);
    const store = kind === "memory" ? "memory" : join(folder, "large.db");
    await using rath = openrath({ store });
    const session = await rath.session("go").do("large", () => text);
    expect(session.output === text).toBe(true);
    await rath.save(session);
    const other = kind === "memory" ? rath : openrath({ store });
    const opened = await other.open(session.id);
    expect(opened.output === text).toBe(true);
    expect(String(opened).length).toBeLessThan(1000);
    await other.close();
  });
});

describe("what verbs are given", () => {
  test("say refuses a Blob and names the part", async () => {
    const session = memory().session("go");
    const error = await failing(() => session.say([{ type: "file", mediaType: "text/plain", data: new Blob(["x"]) }]));
    expect([error.code, error.message]).toStrictEqual([
      "value.unsupported",
      expect.stringMatching(/parts\[0\]\.data is a Blob.*arrayBuffer/),
    ]);
    expect(session.say("go on").id).toBe(session.id);
  });

  test("say refuses what is no content", async () => {
    const session = memory().session("go");
    for (const bad of [5, undefined, null, { text: "x" }, [5], [{ type: "song" }], [{ type: "text" }]]) {
      expect((await failing(() => session.say(bad as unknown as Content))).code, String(bad)).toBe("value.unsupported");
    }
    expect(session.say("go on").id).toBe(session.id);
  });

  test("texts that are no strings are refused, since the record would not verify", async () => {
    const session = memory().session("go");
    const text = 5 as unknown as string;
    const verbs = [
      () => session.note(text),
      () => session.reject(text),
      () => session.link({ system: text, id: "x" }),
      () => session.fork(text),
      () => session.do(text, () => 1),
      () => session.check(text, () => true),
      () => session.ask(text),
    ];
    for (const verb of verbs) expect((await failing(verb)).code, String(verb)).toBe("value.unsupported");
  });

  test("a check whose verdict is odd is recorded so that the session verifies", async () => {
    let session = memory().session("go");
    for (const score of [Number.NaN, Number.POSITIVE_INFINITY, -0, "high" as unknown as number]) {
      session = await session.check(`score ${score}`, () => ({ passed: true, score }));
    }
    expect((await verify(session)).problems).toStrictEqual([]);
  });

  test.each<readonly [string, unknown, string]>([
    ["a list", "long text".match(/long/), "is an array"],
    ["an object without passed", { pass: true }, "is an object whose passed is undefined"],
    ["an object whose passed is a word", { passed: "yes" }, 'is an object whose passed is "yes"'],
    ["a number", 1, "is 1"],
    ["a word", "yes", 'is "yes"'],
    ["nothing", undefined, "is undefined"],
    ["null", null, "is null"],
  ])("a check that gives %s has failed, and says that it gave no verdict", async (_, given, what) => {
    const session = await memory()
      .session("go")
      .check("fits", () => given as never);
    const reason = `the verdict ${what}: give a boolean or { passed, score?, reason? }.`;
    expect(session.checks).toMatchObject([{ name: "fits", passed: false, reason }]);
    expect((await verify(session)).problems).toStrictEqual([]);
  });

  test("names with a lone surrogate are refused or stored so that the session verifies", async () => {
    const rath = memory();
    const named = class extends Flow {
      override readonly name = "flow \ud800" as "flow";
    };
    const makers: readonly (() => Promise<Session>)[] = [
      async () => rath.session("go", { title: "t\ud800", tags: ["\ud800"] }),
      async () => rath.session("go", { principal: "p\ud800" }),
      () => new named((session) => session.do("x", () => 1)).forward(rath.session("go")),
    ];
    for (const make of makers) {
      const session = await make().catch((error: unknown) => error as RathError);
      if (RathError.is(session)) continue;
      await rath.save(session as Session);
      expect((await verify(session as Session)).problems).toStrictEqual([]);
    }
  });

  test("a duration that is none rejects and names it", async () => {
    const session = memory().session("go");
    for (const bad of ["soon", "5", "-5s", "5 s", "1e3s", "", 5, undefined]) {
      const error = await rejecting(() => session.wait(bad as unknown as "5s"));
      expect([error.code, error.message.includes(`"${bad}"`)], String(bad)).toStrictEqual(["value.unsupported", true]);
      if (bad === undefined) continue;
      expect((await rejecting(() => session.ask("?", { type: "object" }, { expires: bad as unknown as "5s" }))).code).toBe(
        "value.unsupported",
      );
    }
    for (const never of [new Date(Number.NaN), "99999999999d", "9999999d"] as const) {
      expect((await rejecting(() => session.wait(never))).code, String(never)).toBe("value.unsupported");
    }
    expect((await rejecting(() => session.wait(new Date(Number.NaN)))).message).toBe(
      "time is an invalid Date: give a valid one, or a duration.",
    );
    expect((await session.wait("1ms")).id).toBe(session.id);
  });

  test("merge refuses what is no session", async () => {
    const session = memory().session("go");
    for (const bad of [undefined, null, 5, "id", {}, [undefined]]) {
      expect(RathError.is(await rejecting(() => session.merge(bad as unknown as Session))), String(bad)).toBe(true);
    }
  });
});

describe("finding a session", () => {
  test.each(["memory", "sqlite"])("that is unknown or ambiguous is refused in %s", async (kind) => {
    await using rath = openrath({ store: kind === "memory" ? "memory" : join(folder, "find.db") });
    const sessions: Session[] = [];
    for (let count = 0; count < 17; count++) sessions.push(await rath.save(rath.session(`number ${count}`)));
    const first = sessions[0] as Session;
    expect((await rath.open(first.id)).head).toBe(first.head);
    const shared = first.id[0] as string; // of seventeen ids made one after another, all begin alike
    expect(await rejecting(() => rath.open(shared))).toMatchObject({
      code: "session.ambiguous-id",
      details: { ids: expect.arrayContaining([first.id]) },
    });
    for (const unknown of ["", "@", "%", "_", "ffffffff", "00000000-0000-7000-8000-000000000000", "' OR 1=1 --"]) {
      expect((await rejecting(() => rath.open(unknown))).code, unknown).toBe("session.not-found");
    }
    for (const place of ["@99", "@0", "@ffff", "@-1", "@1.5"])
      expect((await rejecting(() => rath.open(first.id + place))).code, place).toBe("session.not-found");
  });
});

describe("workflows", () => {
  test("that return something else than their session are refused by name", async () => {
    const rath = memory();
    const foreign = memory().session("elsewhere");
    for (const wrong of [undefined, null, 5, "done", {}, [], foreign, rath.session("another")]) {
      const error = await rejecting(() => new Flow(() => wrong).forward(rath.session("go")));
      expect(error.code, String(wrong)).toBe("workflow.invalid");
    }
  });

  test("whose forward is a class field fail at construction", () => {
    class Field extends Workflow {
      forward = async (session: Session): Promise<Session> => session;
    }
    expect(() => new Field()).toThrow(expect.objectContaining({ code: "workflow.invalid" }));
  });

  test("are given a session or refuse", async () => {
    for (const bad of [undefined, 5, {}])
      expect(RathError.is(await failing(() => new Flow((s) => s).forward(bad as unknown as Session)))).toBe(true);
  });

  test("may not make new sessions inside, where a resumed run would make another", async () => {
    const rath = memory();
    const error = await rejecting(() => new Flow(() => rath.session("new")).forward(rath.session("go")));
    expect(error.code).toBe("session.in-run");
  });
});

describe("values in the wrong place", () => {
  test("of another Rath are refused by every door", async () => {
    const [here, there] = [memory(), memory()];
    const foreign = await there.session("there").do("x", () => 1);
    const own = await here.session("here").do("x", () => 1);
    const doors: Readonly<Record<string, () => Promise<unknown>>> = {
      save: () => here.save(foreign),
      merge: () => own.merge(foreign),
      "merge, unsaved": () => own.merge(there.session("new")),
      run: async () => (await here.run(new Flow((session) => session), foreign)).settle(),
    };
    for (const [name, door] of Object.entries(doors)) expect((await rejecting(door)).code, name).toBe("session.not-here");
    expect(await rejecting(() => here.open(foreign.id))).toMatchObject({ code: "session.not-found" });
    expect((await foreign.do("y", () => 2)).output).toBe(2);
  });

  test("from outside an effect may only be forked inside it", async () => {
    const outer = memory().session("go");
    const codes: string[] = [];
    const result = await outer.do("work", async ({ session }) => {
      const note = async (verb: () => unknown): Promise<void> => void codes.push((await failing(verb)).code);
      await note(() => outer.say("no"));
      await note(() => outer.note("no"));
      await note(() => outer.do("no", () => 1));
      await note(() => outer.merge(session));
      const fork = await outer.fork("inside").do("yes", () => "from the fork");
      return fork.output;
    });
    expect(codes).toStrictEqual(Array.from({ length: 4 }, () => "session.outer-scope"));
    expect(result.output).toBe("from the fork");
  });

  test("of a closed Rath are refused", async () => {
    const rath = memory();
    const session = await rath.session("go").do("x", () => 1);
    await rath.close();
    expect((await rejecting(() => session.do("y", () => 2))).code).toBe("rath.closed");
    expect(session.output).toBe(1);
  });
});

describe("options that are not known", () => {
  test("are refused by name, never ignored", async () => {
    await using rath = memory();
    const done = await rath.session("go").do("x", () => 1);
    const doors: Readonly<Record<string, () => unknown>> = {
      "do.repat": () => done.do("y", () => 1, { repat: "safe" } as never),
      "ask.expire": () => done.ask("?", undefined, { expire: "1s" } as never),
      "session.titel": () => rath.session("go", { titel: "t" } as never),
      // Mutant: a text is kept as the list of its letters.
      tags: () => rath.session("go", { tags: "abc" as never }),
      tag: () => rath.session("go", { tags: ["a", 5] as never }),
      "run.kye": () => rath.run(new Flow((session) => session), done, { kye: "k" } as never),
      key: () => rath.run(new Flow((session) => session), done, { key: "" }),
      "run.queue": () => rath.run(new Flow((session) => session), done, { queue: "yes" as never }),
      signal: () => rath.run(new Flow((session) => session), done, { signal: {} as never }),
      workflow: () => rath.run(undefined as never, done),
      "resume.onDivergance": () => rath.resume("x", { onDivergance: "fork" } as never),
      "resume.onDivergence": () => rath.resume("x", { onDivergence: "stop" as never }),
      "runs.state": async () => {
        for await (const _ of rath.runs({ state: "done" } as never)) break;
      },
      "runs.status": async () => {
        for await (const _ of rath.runs({ status: "finished" as never })) break;
      },
      "sessions.tags": async () => {
        for await (const _ of rath.sessions({ tags: ["x"] } as never)) break;
      },
      "rerun.chnge": () => rerun(done, new Flow((session) => session), { chnge: {} } as never),
      'tool "t".wrtes': () => tool({ name: "t", description: "t", input: { type: "object" }, wrtes: "files", run: () => 1 } as never),
      'writes of tool "t"': () => tool({ name: "t", description: "t", input: { type: "object" }, writes: "file" as never, run: () => 1 }),
      "sandboxes.sesion": async () => {
        for await (const _ of rath.sandboxes({ sesion: "x" } as never)) break;
      },
    };
    for (const [name, door] of Object.entries(doors)) {
      const error = await failing(door);
      expect([error.code, error.message.slice(0, name.length)]).toEqual(["value.unsupported", name]);
    }
    expect(await all(rath.runs())).toEqual([]);
  });

  test("of a command fail the effect, before it runs", async () => {
    await using rath = memory();
    const timed = rath
      .session("go")
      .to("memory", {})
      .do("x", ({ sandbox }) => sandbox.exec("sleep 9", { timeout: 1 } as never));
    expect((await failing(() => timed)).message).toContain("exec.timeout is not known: use one of cwd, stdin, signal, timeoutMs, onOutput");
  });

  test("files of a directory that nothing has used yet are not said to be missing", async () => {
    await using rath = memory();
    const placed = rath.session("go").to("memory", { workspace: folder });
    expect((await failing(() => placed.files.text("a"))).message).toContain("is read when a tool first uses it, and none has yet");
  });
});
