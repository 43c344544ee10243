import { describe, expect, test } from "vitest";
import { attempts, breaks, says } from "../../test/support/models.ts";
import { modelFailed } from "../model/failure.ts";
import { scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import type { Model } from "../session/model.ts";
import type { Session } from "../session/session.ts";
import type { StreamPart } from "../session/stream.ts";
import { testRath } from "../testing/test-rath.ts";
import { Agent } from "./agent.ts";
import type { AgentOptions } from "./options.ts";

const busy = (retryAfterMs = 0) => modelFailed("too many requests", { retryable: true, status: 429, retryAfterMs });
const broken = modelFailed("the server failed", { retryable: true, status: 503, retryAfterMs: 0 });
const cut = modelFailed("the stream was cut", { retryable: true, retryAfterMs: 0 });
const refused = modelFailed("the key is wrong", { retryable: false, status: 401 });

async function ask(model: AgentOptions["model"], more: Partial<AgentOptions> = {}): Promise<Session> {
  const agent = new Agent({ model, ...more });
  const session = await agent.forward(testRath().session("go"));
  expect(String(await replay(session, agent))).toMatch(/^identical/);
  return session;
}

/** The newest result of a model. */
function returned(session: Session) {
  const event = [...session.events()].findLast(({ kind }) => kind === "model.returned");
  if (event?.kind !== "model.returned") throw new Error("no model was asked");
  return { ...event.data, attempts: event.facts.attempts, outcome: event.facts.outcome };
}

/** What somebody who reads the stream has seen of the text; a restart drops what came before it. */
async function shownBy(model: Model): Promise<{ text: string; restarts: number; pieces: string[]; session: Session }> {
  const stream = new Agent({ model }).stream(testRath().session("go"));
  const deltas: Extract<StreamPart, { type: "text-delta" }>[] = [];
  for await (const part of stream) if (part.type === "text-delta") deltas.push(part);
  return {
    text: deltas.reduce((text, delta) => (delta.restart === true ? delta.text : text + delta.text), ""),
    restarts: deltas.filter((delta) => delta.restart === true).length,
    pieces: deltas.map((delta) => delta.text),
    session: await stream.result(),
  };
}

describe("a model call that fails", () => {
  test("is tried again when the failure may pass; each failure is in the result", async () => {
    const model = attempts("m", [breaks(busy()), breaks(broken), breaks(cut, "half "), says("whole answer")]);
    const session = await ask(model);
    expect([session.stop, session.text, model.asked.length]).toEqual(["finished", "whole answer", 4]);
    expect(returned(session)).toMatchObject({
      attempts: 4,
      outcome: "ok",
      failures: [
        { message: "too many requests", status: 429, waitedMs: 0 },
        { message: "the server failed", status: 503, waitedMs: 0 },
        { message: "the stream was cut", text: "half ", waitedMs: 0 },
      ],
    });
  });

  test("waits as long as the provider asks", async () => {
    const model = attempts("m", [breaks(busy(60)), says("ok")]);
    const start = performance.now();
    const session = await ask(model);
    expect(performance.now() - start).toBeGreaterThanOrEqual(55);
    expect(returned(session).failures).toEqual([{ message: "too many requests", status: 429, waitedMs: 60 }]);
  });

  test("does not wait longer than a minute: the next model is asked, and nothing says that anybody waited", async () => {
    const [first, second] = [attempts("first", [breaks(busy(3_600_000))]), attempts("second", [says("ok")])];
    const session = await ask([first, second]);
    expect([first.asked.length, session.text]).toEqual([1, "ok"]);
    expect(returned(session).failures).toEqual([{ message: "too many requests", model: "first", status: 429 }]);
  });

  test("without hope is not tried again, and ends the agent with the reason", async () => {
    const model = attempts("m", [breaks(refused)]);
    const session = await ask(model);
    expect([session.stop, session.status, model.asked.length]).toEqual(["error", "failed", 1]);
    expect(() => session.output).toThrow(/stopped as "error" \(the key is wrong\)/);
    expect(returned(session)).toMatchObject({ outcome: "error", attempts: 1, message: "the key is wrong" });
  });

  test("is tried as often as retry.attempts says, then the next model is", async () => {
    const [first, second, third] = [
      attempts("first", [breaks(broken)]),
      attempts("second", [breaks(refused)]),
      attempts("third", [says("ok")]),
    ];
    const session = await ask([first, second, third], { retry: { attempts: 2 } });
    expect([first, second, third].map((model) => model.asked.length)).toEqual([2, 1, 1]);
    expect(returned(session)).toMatchObject({
      model: "third",
      attempts: 4,
      failures: [{ model: "first" }, { model: "first" }, { model: "second", message: "the key is wrong" }],
    });
    expect([...session.events()].find(({ kind }) => kind === "model.called")?.data).toMatchObject({
      model: "first",
      fallbacks: ["second", "third"],
    });
  });

  test("all models failing is a stop with the last reason", async () => {
    const session = await ask([attempts("a", [breaks(broken)]), attempts("b", [breaks(refused)])], { retry: { attempts: 1 } });
    expect(session.stop).toBe("error");
    expect(returned(session)).toMatchObject({
      attempts: 2,
      message: "the key is wrong",
      failures: [{ model: "a" }, { model: "b" }],
    });
  });

  test("an error that is none of ours is not tried again and is told as it is", async () => {
    const session = await ask(attempts("m", [breaks(new TypeError("x is not a function"))]));
    expect([session.stop, returned(session).message, returned(session).attempts]).toEqual(["error", "x is not a function", 1]);
  });

  test("a stream that ends without a reply was cut, and is tried again", async () => {
    const silent = attempts("m", [
      async function* () {
        yield { type: "text-delta", text: "half" };
      },
      says("whole"),
    ]);
    // The wait before the second attempt is ours: half a second, spread.
    const session = await ask(silent);
    expect(returned(session)).toMatchObject({ attempts: 2, failures: [{ message: expect.stringMatching(/was cut/), text: "half" }] });
    expect(returned(session).failures?.[0]?.waitedMs).toBeGreaterThan(300);
  });

  test("a model that says nothing is given up after retry.timeout, also in the middle of its answer", async () => {
    let aborted = 0;
    const mute = attempts("m", [
      async function* (_, { signal }) {
        yield { type: "text-delta", text: "I was just " };
        await new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            aborted++;
            reject(signal.reason);
          }),
        );
      },
    ]);
    const session = await ask(mute, { retry: { attempts: 1, timeout: "30ms" } });
    expect([session.stop, aborted]).toEqual(["error", 1]);
    expect(returned(session)).toMatchObject({ message: "m said nothing for 30ms", failures: [{ text: "I was just " }] });
  });

  test("a model that ignores its signal is left behind", async () => {
    const deaf = attempts("m", [
      async function* () {
        await new Promise(() => {});
      },
    ]);
    expect((await ask(deaf, { retry: { attempts: 1, timeout: "20ms" } })).stop).toBe("error");
  });

  test("stopping it in the middle of a wait ends it at once, as cancelled", async () => {
    const model = attempts("m", [breaks(busy(30_000), "half ")]);
    const agent = new Agent({ model });
    const stream = agent.stream(testRath().session("go"));
    while (model.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, 10));
    const start = performance.now();
    await stream.cancel("not needed any more");
    const session = await stream.result();
    expect(performance.now() - start).toBeLessThan(6000);
    expect([session.stop, session.status, model.asked.length]).toEqual(["cancelled", "cancelled", 1]);
    expect(returned(session)).toMatchObject({ outcome: "cancelled", reason: "not needed any more" });
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("a time limit that ends within a wait ends it: nobody waits for nothing", async () => {
    const model = attempts("m", [breaks(busy(50_000))]);
    const start = performance.now();
    const session = await ask(model, { limits: { time: "25s" } });
    expect(performance.now() - start).toBeLessThan(5000);
    expect([session.stop, model.asked.length]).toEqual(["budget", 1]);
  });

  test("retry options that cannot work are refused when the agent is made", () => {
    for (const attempts of [0, -1, 1.5, Number.NaN])
      expect(() => new Agent({ model: scripted("x"), retry: { attempts } })).toThrow(/retry\.attempts/);
    expect(() => new Agent({ model: scripted("x"), retry: { timeout: "soon" as never } })).toThrow(/soon/);
  });

  test("the scripted failures are failures like others", async () => {
    for (const fail of ["rate-limit", "server", "cut"] as const) {
      const session = await ask(scripted({ text: "one two three four", fail }));
      expect(returned(session)).toMatchObject({
        attempts: 2,
        failures: [fail === "cut" ? { text: "one two " } : { status: expect.any(Number) }],
      });
    }
  });
});

describe("who reads the stream of a reply that was cut", () => {
  test("reads the text once when the second attempt says the same", async () => {
    const { text, restarts, pieces } = await shownBy(attempts("m", [breaks(cut, "Hello ", "wor"), says("Hello world again")]));
    expect([text, restarts]).toEqual(["Hello world again", 0]);
    expect(pieces).toEqual(["Hello ", "wor", "ld ", "again"]);
  });

  test("is told to begin again when it says something else", async () => {
    const { text, restarts } = await shownBy(attempts("m", [breaks(cut, "Hello ", "wor"), says("Help is near")]));
    expect([text, restarts]).toEqual(["Help is near", 1]);
  });

  test("is told so too when the second answer is only the beginning of the first", async () => {
    const { text, restarts, session } = await shownBy(attempts("m", [breaks(cut, "Hello ", "world, ", "how"), says("Hello ")]));
    expect([text, restarts, session.text]).toEqual(["Hello ", 1, "Hello "]);
  });

  test("and when it has no text at all", async () => {
    const { text, restarts } = await shownBy(attempts("m", [breaks(cut, "Hello "), says("")]));
    expect([text, restarts]).toEqual(["", 1]);
  });

  test("whatever is cut how often", async () => {
    const { text } = await shownBy(
      attempts("m", [breaks(cut, "Hello ", "you"), breaks(cut, "Hel"), breaks(cut, "Hi "), says("Hi there, all")]),
    );
    expect(text).toBe("Hi there, all");
  });

  test("reads reasoning once", async () => {
    const thinks = (...rest: readonly string[]) =>
      async function* () {
        yield { type: "reasoning-delta", text: "First, " } as const;
        yield { type: "reasoning-delta", text: "second. " } as const;
        for (const text of rest) yield { type: "text-delta", text } as const;
        if (rest.length === 0) throw cut;
        const reply = { parts: [{ type: "text", text: rest.join("") }], finish: "stop", usage } as const;
        yield { type: "reply", reply } as const;
      };
    const usage = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 };
    const stream = new Agent({ model: attempts("m", [thinks(), thinks("ok")]) }).stream(testRath().session("go"));
    let thought = "";
    for await (const part of stream) if (part.type === "reasoning-delta") thought += part.text;
    expect(thought).toBe("First, second. ");
  });
});

describe("a model that throws before it streams", () => {
  test("leaves no timer behind that keeps the process", async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const model: Model = {
      id: "m",
      free: true,
      stream() {
        throw new Error("no stream");
      },
    };
    expect((await ask(model)).stop).toBe("error");
    expect(timers()).toBeLessThanOrEqual(before);
  });
});
