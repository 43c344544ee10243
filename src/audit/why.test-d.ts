import { expectTypeOf, test } from "vitest";
import type { Event } from "../session/event.ts";
import type { Session } from "../session/session.ts";
import { type WhyHop, type WhyTarget, why } from "./why.ts";

declare const session: Session;

test("a target is a line of a file, or one named thing", () => {
  expectTypeOf<"src/a.ts:12">().toExtend<WhyTarget>();
  expectTypeOf<{ readonly memory: string }>().toExtend<WhyTarget>();
  expectTypeOf<"test-command">().not.toExtend<WhyTarget>();
  expectTypeOf<string>().not.toExtend<WhyTarget>();
  expectTypeOf<"src/a.ts:end">().not.toExtend<WhyTarget>();
  expectTypeOf<{ readonly line: 3 }>().not.toExtend<WhyTarget>();
  // @ts-expect-error free text is no target
  void (() => why(session, "why did it do that?"));
});

test("a hop has its relation, its event and words", async () => {
  expectTypeOf<WhyHop["event"]>().toEqualTypeOf<Event>();
  expectTypeOf(why(session, { answer: "" }))
    .resolves.toHaveProperty("hops")
    .toEqualTypeOf<readonly WhyHop[]>();
  expectTypeOf<"caused">().not.toExtend<WhyHop["relation"]>();
});
