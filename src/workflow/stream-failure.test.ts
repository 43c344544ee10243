/** How a stream ends when the work that it shows does not end well. */
import { afterAll, describe, expect, test } from "vitest";
import { until } from "../../test/support/other-process.ts";
import type { Session } from "../session/session.ts";
import type { Stream } from "../session/stream.ts";
import { testRath } from "../testing/test-rath.ts";
import { Workflow } from "./workflow.ts";

class Failing extends Workflow {
  async forward(session: Session): Promise<Session> {
    await session.do("first", () => 1, { repeat: "safe" });
    throw new Error("oops");
  }
}
class Asking extends Workflow {
  forward(session: Session) {
    return session.ask("Go on?");
  }
}

/** What was read, and why it ended. */
async function read<T>(parts: AsyncIterable<T>): Promise<{ readonly parts: readonly T[]; readonly error: unknown }> {
  const read: T[] = [];
  try {
    for await (const part of parts) read.push(part);
    return { parts: read, error: undefined };
  } catch (error) {
    return { parts: read, error };
  }
}

const unhandled: unknown[] = [];
const hear = (error: unknown): void => void unhandled.push(error);
process.on("unhandledRejection", hear);
afterAll(() => void process.off("unhandledRejection", hear));

describe("a stream of work that fails", () => {
  const rath = testRath();
  const streams: readonly (readonly [string, () => Promise<Stream>])[] = [
    ["of a workflow", async () => new Failing().stream(rath.session("go"))],
    ["of a run", async () => (await rath.run(new Failing(), rath.session("go"))).stream()],
  ];

  // Mutant: the iteration does not ask for the result.
  test.each(streams)("%s gives every part, then rejects as its result does", async (_, start) => {
    const stream = await start();
    const { parts, error } = await read(stream);
    expect(parts.some((part) => part.type === "event" && part.event.kind === "do.returned")).toBe(true);
    expect(error).toMatchObject({ message: "oops" });
    expect(await stream.result().catch((failed: unknown) => failed)).toBe(error);
    expect((await read(stream)).error).toBe(error); // whoever reads it again is told again
    expect((await read(stream.text)).error).toBe(error);
  });

  test.each(streams)("%s tells nobody who does not read", async (_, start) => {
    const stream = await start();
    for await (const _part of stream) break;
    await stream.result().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(unhandled).toEqual([]);
  });

  test("says so in a response, too", async () => {
    const body = await new Failing().stream(rath.session("go")).toResponse().text();
    expect(body.trim().split("\n\n").at(-1)).toBe('event: failed\ndata: {"message":"oops"}');
  });
});

test.each([
  ["executed here", false],
  ["left to workers", true],
])("when a Rath is closed, the stream of a run that is %s ends with that", async (_, queue) => {
  const rath = testRath({ workflows: { asking: new Asking() } });
  const run = await rath.run("asking", rath.session("go"), { queue });
  const stream = run.stream();
  const reading = read(stream);
  if (!queue) await until("the question", async () => (await rath.pending()).length > 0);
  await rath.close();
  expect((await reading).error).toMatchObject({ code: "rath.closed" });
});
