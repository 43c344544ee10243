/** Whatever was compressed, undone, forked and merged: a model is sent what the record says, well shaped, and nothing of the conversation is lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { Compressor } from "../../src/agent/compressor.ts";
import type { ContextEntry, ContextPolicy } from "../../src/agent/context/policy.ts";
import { scripted } from "../../src/model/scripted.ts";
import { composeRath } from "../../src/openrath.ts";
import type { Event } from "../../src/session/event.ts";
import type { ModelRequest, RequestMessage } from "../../src/session/message.ts";
import type { Session } from "../../src/session/session.ts";
import { tool } from "../../src/tool/tool.ts";
import { shapeProblems } from "../support/shape.ts";
import { sharedStore } from "../support/shared-store.ts";

type Kind = "window" | "summary" | "trim" | "custom" | "full" | "none";
const kind = fc.constantFrom<Kind>("window", "summary", "trim", "custom", "full", "none");
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("ask" as const),
      on: fc.nat(9),
      calls: fc.nat(3),
      rounds: fc.nat(3),
      kind,
      size: fc.nat(400),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("compress" as const), on: fc.nat(9), kind, size: fc.nat(400) }) },
  fc.record({ type: fc.constant("past" as const), on: fc.nat(9), step: fc.nat(80) }),
  fc.record({ type: fc.constant("say" as const), on: fc.nat(9) }),
  fc.record({ type: fc.constant("merge" as const), on: fc.nat(9), with: fc.nat(9) }),
  fc.record({ type: fc.constant("detach" as const), on: fc.nat(9) }),
);

const work = tool({
  name: "work",
  description: "x",
  input: z.object({ n: z.number() }),
  repeat: "safe",
  run: ({ n }) => new Promise((resolve) => setTimeout(resolve, 3 - n, `${n} ${"result ".repeat(20)}`)),
});

/** Every third entry, by one of its parts: rounds must be widened. */
const some = (entries: readonly ContextEntry[]) => ({ keep: entries.filter((_, index) => index % 3 === 1).map(({ event }) => event) });

test("every request is read again as it was sent, and has the shape that providers want", async () => {
  let compressed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const store = sharedStore();
      const rath = composeRath({ store, implicitForks: "allow" }, {});
      const branches: Session[] = [rath.session("go")];
      const sent = new Map<string, string>();
      const seen = (request: ModelRequest, session: Session): void => {
        expect(shapeProblems(request.messages)).toEqual([]);
        // A fork from before the first message has none of a person's.
        if (session.messages[0]?.role === "user") expect(request.messages[0]?.role).toBe("user");
        sent.set(`${session.id} ${session.step}`, JSON.stringify(request.messages));
      };
      const summary = scripted((request, session) => {
        seen(request, session);
        return `Summary of ${request.messages.length}.`;
      });
      const policyOf = (of: Kind, size: number): ContextPolicy | undefined => {
        if (of === "window") return { window: 20 + size };
        if (of === "summary") return { summariseAt: 20 + size, keep: size >> 2, model: summary };
        if (of === "trim") return { trimResults: 1 + (size >> 2), keep: size & 1 };
        return of === "custom" ? some : of === "full" ? "full" : undefined;
      };
      for (const [number, one] of steps.entries()) {
        const index = one.on % branches.length;
        const at = branches[index] as Session;
        if (one.type === "past") branches.push(at.at((one.step % at.step) + 1).fork());
        else if (one.type === "say") branches[index] = at.say(`said ${number} ${"words ".repeat(10)}`);
        else if (one.type === "detach") branches[index] = at.detach();
        else if (one.type === "merge") branches[index] = await at.merge(branches[one.with % branches.length] as Session).catch(() => at);
        else {
          const policy = policyOf(one.kind, one.size);
          if (one.type === "compress") {
            if (policy !== undefined) branches[index] = await new Compressor({ policy }).forward(at);
            continue;
          }
          const calls = Array.from({ length: one.calls }, (_, n) => ({ tool: "work", input: { n } }));
          const script = Array.from({ length: one.rounds + 1 }, (_, round) => (request: ModelRequest, session: Session) => {
            seen(request, session);
            const text = round === one.rounds ? `answer ${number}` : `round ${number}.${round} ${"think ".repeat(20)}`;
            return round === one.rounds || calls.length === 0 ? text : { text, reasoning: "Hm.", calls };
          });
          const before = at.messages.length;
          const done = await new Agent({ name: `a${number}`, model: scripted(...script), tools: [work], context: policy }).forward(at);
          expect(done.stop).toBe("finished");
          expect(done.messages.length).toBeGreaterThan(before);
          branches[index] = done;
        }
      }
      for (const session of branches) await rath.save(session);
      await rath.close();
      await using again = composeRath({ store, implicitForks: "allow" }, {});
      let compared = 0;
      for await (const session of again.sessions()) {
        for (const event of session.events()) {
          if (event.session !== session.id) continue;
          if (event.kind === "context.compressed") compressed++;
          if (event.kind !== "model.called") continue;
          const read = await session.at(event.id).request();
          expect(JSON.stringify(read.messages)).toBe(sent.get(`${session.id} ${event.step - 1}`));
          compared++;
        }
      }
      expect(compared).toBe(sent.size);
    }),
    { numRuns: 50 },
  );
  expect(compressed).toBeGreaterThan(50);
}, 60_000);

/** What a model reads of a straight conversation, told from its events alone: another way to the same. */
function told(events: readonly Event[]): readonly string[] {
  let read: string[] = [];
  const all: string[] = [];
  for (const event of events) {
    if (event.kind === "message.added" || event.kind === "model.returned" || event.kind === "tool.returned") {
      all.push(event.id);
      read.push(event.id);
    } else if (event.kind === "context.compressed") {
      const { policy, dropped, replacement } = event.data;
      if (policy === "full") read = [...all];
      for (const [index, { from, to }] of dropped.entries()) {
        const start = read.indexOf(from);
        read.splice(start, read.indexOf(to) - start + 1, ...(index === 0 && replacement !== undefined ? [event.id] : []));
      }
    }
  }
  return read;
}

function texts(messages: readonly RequestMessage[]): readonly string[] {
  return messages.flatMap((message) => {
    if (message.role === "system") return [message.text];
    if (message.role === "tool") return message.results.map(({ value }) => String(value).slice(0, 8));
    return [message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")];
  });
}

test("what is read is what the recorded ranges say", async () => {
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ kind, size: fc.nat(400), rounds: fc.nat(4) }), { minLength: 2, maxLength: 6 }), async (turns) => {
      let session: Session = composeRath({ store: "memory" }, {}).session("go");
      for (const [number, { kind: of, size, rounds }] of turns.entries()) {
        const context: ContextPolicy | undefined =
          of === "window"
            ? { window: 20 + size }
            : of === "summary"
              ? { summariseAt: 20 + size, keep: size >> 2, model: scripted("Sum.") }
              : of === "custom"
                ? some
                : of === "full"
                  ? of
                  : undefined;
        const script = Array.from({ length: rounds + 1 }, (_, round) =>
          round === rounds ? `answer ${number}` : { text: `round ${number}.${round}`, calls: [{ tool: "work", input: { n: round % 3 } }] },
        );
        session = await new Agent({ name: `a${number}`, model: scripted(...script), tools: [work], context }).forward(
          session.say(`turn ${number}`),
        );
      }
      const line = [...session.events()].filter((event) => event.session === session.id);
      for (const [index, event] of line.entries()) {
        if (event.kind !== "model.called") continue;
        const { messages } = await session.at(event.id).request();
        const expected = told(line.slice(0, index)).map((id) => {
          const one = line.find((other) => other.id === id) as Event;
          if (one.kind === "message.added") return one.data.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
          if (one.kind === "model.returned") return (one.data.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
          if (one.kind === "tool.returned") return String(one.data.value).slice(0, 8);
          return "replaced";
        });
        const read = texts(messages).map((text) => (/not shown|was replaced/.test(text) ? "replaced" : text));
        expect(read.at(-1) === "Continue." ? read.slice(0, -1) : read).toEqual(expected);
        checked++;
      }
    }),
    { numRuns: 40 },
  );
  expect(checked).toBeGreaterThan(100);
}, 60_000);
