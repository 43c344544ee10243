/** What the compiler tells users of a Rath. Checked by `npm run check:types`; nothing here runs. */
import { expectTypeOf } from "vitest";
import { z } from "zod";
import type { OutputOf, Rath, Session } from "../index.ts";
import type { Stored } from "../session/session.ts";
import { Workflow } from "../workflow/workflow.ts";

class Count extends Workflow {
  forward(session: Session) {
    return session.do("count", () => ({ rows: 3, seen: undefined as string | undefined }));
  }
}

export async function whatCompiles(rath: Rath, session: Session): Promise<void> {
  // What cannot be stored is `never` where it is read.
  expectTypeOf<Stored<Date>>().toBeNever();
  expectTypeOf<Stored<Map<string, number>>>().toBeNever();
  expectTypeOf<Stored<bigint>>().toBeNever();
  expectTypeOf<Stored<{ a: Date; b: string[] }>>().toEqualTypeOf<{ readonly a: never; readonly b: readonly string[] }>();
  expectTypeOf((await session.do("time", () => new Date())).output).toBeNever();
  expectTypeOf((await session.do("bytes", () => new Uint8Array())).output).toEqualTypeOf<Uint8Array<ArrayBuffer>>();

  // The output of a workflow travels through runs.
  type Counted = { readonly rows: number; readonly seen: string | undefined };
  expectTypeOf<OutputOf<Count>>().toEqualTypeOf<Counted>();
  const run = await rath.run(new Count(), session, { key: "k" });
  expectTypeOf((await run.result()).output).toEqualTypeOf<Counted>();
  const settled = await run.settle();
  if (settled.status === "done") expectTypeOf(settled.session.output).toEqualTypeOf<Counted>();
  if (settled.status === "waiting") expectTypeOf(settled.pending[0]?.id).toEqualTypeOf<string | undefined>();

  // What was said last is not an output; notes and checks keep it.
  const counted = await session.do("count", () => 1);
  expectTypeOf(counted.note("n").fork("f").output).toEqualTypeOf<number>();
  expectTypeOf((await counted.check("positive", () => true)).output).toEqualTypeOf<number>();
  expectTypeOf(counted.say("next").output).toEqualTypeOf<unknown>();

  await rath.decide("id", { by: "person:1", outcome: "run-again" });
  await rath.decide("id", { by: "person:1", outcome: { type: "ok", value: 1 } });
  // @ts-expect-error somebody decides: `by` is missing
  await rath.decide("id", { outcome: "run-again" });
  // @ts-expect-error "unknown" is what is being decided, not a decision
  await rath.decide("id", { by: "person:1", outcome: { type: "unknown" } });
  // @ts-expect-error a value is immutable
  session.step = 2;
  // @ts-expect-error there is no such repeat class
  await session.do("x", () => 1, { repeat: "twice" });
  // @ts-expect-error a duration has a unit
  await session.wait("10");
  expectTypeOf((await session.do("x", (): unknown => 1)).output).toEqualTypeOf<unknown>();
  expectTypeOf((await session.ask("?", undefined, { expires: "1d" })).output).toEqualTypeOf<string>();
  expectTypeOf((await session.receive("paid")).output).toEqualTypeOf<unknown>();
  expectTypeOf((await session.receive("paid", z.object({ amount: z.number() }), { expires: "1d" })).output).toEqualTypeOf<{
    amount: number;
  }>();
  await rath.send(run.id, "paid", { amount: 3 }, { by: "service:shop", key: "k" });
  // @ts-expect-error a duration has a unit
  await session.receive("paid", undefined, { expires: "10" });
  for (const event of session.events())
    if (event.kind === "message.added") expectTypeOf(event.data.role).toEqualTypeOf<"user" | "system">();
}
