import { expect, test } from "vitest";
import type { Event } from "../session/event.ts";
import { eventLine } from "./event-line.ts";

/** As much of an event as a line needs. */
function line(kind: string, data: object | undefined, facts: object = {}, call?: object): string {
  const called = { id: "call", kind: `${kind.slice(0, kind.indexOf("."))}.called`, data: call, facts: {}, parents: [] };
  const event = { id: "event", kind, data, facts, parents: ["call"] } as unknown as Event;
  return eventLine(event, (id) => (id === "call" && call !== undefined ? (called as unknown as Event) : undefined));
}

const item = {
  uri: "memory://project/a",
  version: 2,
  based: 1,
  origin: "tool",
  trust: "untrusted",
  because: [],
  from: [],
  publish: "return",
};
const hit = { uri: "memory://project/a", version: 2, score: 0.12345, trust: "trusted", content: "x" };

test.each([
  ["recall.called", { query: "tests", scopes: ["project", "user"], limit: 5 }, {}, "recall tests of project, user"],
  ["recall.called", { limit: 5 }, {}, "recall all"],
  ["recall.returned", { value: [] }, {}, "recall tests → nothing found"],
  ["recall.returned", { value: [hit] }, {}, "recall tests → memory://project/a@2 (0.123, trusted)"],
  [
    "recall.returned",
    { value: [hit], injected: ["memory://project/a@2"] },
    { injected: true },
    "recall tests → memory://project/a@2 (0.123, trusted), 1 given to the model",
  ],
  ["recall.returned", { message: "disk full" }, { outcome: "error" }, "recall tests → error disk full"],
  ["remember.called", { key: "a", content: { b: 1 }, scope: "project" }, {}, 'remember a: {"b":1}'],
  ["remember.returned", { item }, {}, "remember memory://project/a@2 → staged (from tool, untrusted)"],
  ["remember.returned", { item, published: 7 }, {}, "remember memory://project/a@2 → published at revision 7 (from tool, untrusted)"],
  ["remember.returned", { reason: "too private" }, { outcome: "denied" }, "remember a → denied too private"],
  ["forget.called", { key: "a", scope: "project", reason: "old" }, {}, "forget a: old"],
  ["forget.returned", { item }, {}, "forget memory://project/a@2 → staged (from tool, untrusted)"],
  [
    "remember.returned",
    { item: { ...item, publish: { check: "sound" } } },
    {},
    'remember memory://project/a@2 → staged until the check "sound" passes (from tool, untrusted)',
  ],
  [
    "remember.returned",
    { item: { ...item, publish: "never" } },
    {},
    "remember memory://project/a@2 → staged for good (from tool, untrusted)",
  ],
  ["memory.published", { revision: 3, items: [{ ...item, event: "e" }] }, {}, "published at revision 3: memory://project/a@2"],
  [
    "memory.published",
    {
      revision: 3,
      items: [],
      held: [{ uri: "memory://project/b", event: "e", reason: 'the check "tests" has not passed' }],
      refused: [{ uri: "memory://project/c", event: "e", based: 1, current: 4 }],
    },
    {},
    'no memory published; held: memory://project/b, the check "tests" has not passed; refused: memory://project/c, which is at version 4',
  ],
  ["memory.published", { revision: 0, items: [], problem: "disk full" }, {}, "memory was not published: disk full"],
  [
    "context.compressed",
    { policy: "summary", dropped: [{ from: "a", to: "b", events: 1200 }], kept: [], tokens: { before: 12_000, after: 900 } },
    {},
    "context: summary, 1 200 events no longer read, 12 000 to 900 tokens",
  ],
  [
    "context.compressed",
    { policy: "trim", dropped: [], kept: [], shortened: [{ event: "a", to: 10 }], tokens: { before: 100, after: 90 } },
    {},
    "context: trim, 1 result shortened, 100 to 90 tokens",
  ],
  [
    "context.compressed",
    { policy: "full", dropped: [], kept: [], tokens: { before: 9, after: 99 } },
    {},
    "context: full, all is read again, 9 to 99 tokens",
  ],
  ["recall.returned", undefined, {}, "recall.returned [erased]"],
])("%s %#", (kind, data, facts, expected) => {
  const call = kind.startsWith("recall") ? { query: "tests" } : { key: "a" };
  expect(line(kind, data, facts, call)).toBe(expected);
});
