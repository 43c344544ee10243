/** Parts of runs that are executed elsewhere: they come while it happens, and whatever is lost, doubled or late, what was shown at the end is the record. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { kept } from "../../test/support/other-process.ts";
import { ownSchemas, withClient } from "../../test/support/postgres.ts";
import { listen, type Told } from "../../test/support/sse.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import { createServer } from "../server/server.ts";
import type { Model } from "../session/model.ts";
import { memoryStore } from "../store/memory.ts";
import { postgresStore } from "../store/postgres.ts";
import type { News, Store } from "../store/store.ts";
import { tool } from "../tool/tool.ts";

let url = "";
const schema = ownSchemas((given) => {
  url = given;
});

const replies = ["The sea is blue because it scatters light, I will look", "And the sky is too, more or less, as I have seen"];

/** Says its words one after the other. */
function slowly(model: Model, ms: number): Model {
  return {
    ...model,
    async *stream(request, options) {
      for await (const part of model.stream(request, options)) {
        for (const text of part.type === "text-delta" ? part.text.split(/(?<= )/) : [""]) {
          await sleep(ms);
          yield part.type === "text-delta" ? { ...part, text } : part;
        }
      }
    },
  };
}

function talker(ms: number): Agent {
  const look = tool({ name: "look", description: "Looks", input: z.object({}), run: () => "seen" });
  return new Agent({
    name: "one",
    model: slowly(scripted({ text: replies[0], calls: [{ tool: "look", input: {} }] }, replies[1] as string), ms),
    tools: [look],
  });
}

/** What somebody has on the screen who shows deltas alone: replies that are over, and the one that is being said. */
class Screen {
  readonly over: string[] = [];
  #now = "";
  deltas = 0;
  restarts = 0;

  take({ type, data }: Told): void {
    if (type === "text-delta") {
      this.deltas++;
      if (data.restart === true) this.restarts++;
      this.#now = data.restart === true ? data.text : this.#now + data.text;
    } else if (type === "event" && data.event.kind === "model.returned") {
      this.over.push(this.#now);
      this.#now = "";
    }
  }

  get left(): string {
    return this.#now;
  }
}

/** What becomes of something that is told, parts or that somebody wants them. */
type Pass = (parts: boolean, tell: () => void) => unknown;

const lateMs = 250;

/** Stores of two processes over one, which tell each other through `pass`. */
function twoProcesses(pass: Pass): [Store, Store] {
  const store = memoryStore();
  const hearers = new Set<(news: News) => void>();
  const other = (): Store => ({
    ...kept(store),
    tell: async (words) => {
      const text = JSON.stringify(words);
      for (const hear of hearers) pass("parts" in (words as object), () => hear({ due: false, logs: [], words: JSON.parse(text) }));
    },
    watch: async (hear) => {
      hearers.add(hear);
      return { [Symbol.asyncDispose]: async () => void hearers.delete(hear) };
    },
  });
  return [other(), other()];
}

/** Says what was there before nothing came any more. */
async function silence(screen: Screen): Promise<never> {
  await sleep(20_000, undefined, { ref: false });
  throw new Error(
    `nothing came for 20 s, after ${screen.deltas} deltas, ${JSON.stringify(screen.over)} and ${JSON.stringify(screen.left)}`,
  );
}

async function followed(
  here: Store,
  there: Store,
  path: (run: { id: string; session: string }) => string,
  ms = 12,
  listening = async () => {},
): Promise<Screen> {
  await using rath = openrath({ store: here });
  await using worker = openrath({ store: there, workflows: { one: talker(ms) } });
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const stop = new AbortController();
  const run = await rath.run("one", rath.session("Why?"), { queue: true });
  await using stream = await listen(server.fetch, `http://localhost${path(run)}`);
  // What was there before is read meanwhile: a stream listens once it has been.
  const working = listening().then(() => worker.work({ signal: stop.signal, drain: "1s" }));
  working.catch(() => {});
  const screen = new Screen();
  for (;;) {
    const told = await Promise.race([stream.next(), silence(screen)]);
    if (told === undefined || told.type === "end") break;
    screen.take(told);
    if (told.data.event?.kind === "run.ended") break;
  }
  // What comes late comes now.
  const late = (async () => {
    for (let told = await stream.next(); told !== undefined; told = await stream.next()) screen.take(told);
  })();
  await Promise.race([late, sleep(lateMs + 100)]);
  stop.abort();
  await working;
  return screen;
}

/** Resolves when somebody listens to the news of a schema: what is told before that is lost, and asked for again seconds later. */
const heard = (schema: string): Promise<void> =>
  withClient(url, async (client) => {
    const listening = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND query LIKE '%' || $1 || '%'";
    for (let left = 2000; (await client.query(listening, [schema])).rows.length === 0; left--) {
      if (left === 0) throw new Error(`nobody listens to the news of ${schema}`);
      await sleep(5);
    }
  });

test("on PostgreSQL a reader sees what a worker in another process is saying", async () => {
  const name = schema();
  for (const path of [
    (run: { id: string }) => `/v1/runs/${run.id}/stream`,
    (run: { session: string }) => `/v1/sessions/${run.session}/stream`,
  ]) {
    const screen = await followed(postgresStore(url, { schema: name }), postgresStore(url, { schema: name }), path, 40, () => heard(name));
    expect(screen.over).toEqual(replies);
    expect(screen.deltas).toBeGreaterThan(4);
    expect(screen.left).toBe("");
  }
});

for (const [how, pass] of [
  ["all is lost", () => {}],
  ["half is lost", (parts, tell) => (!parts || Math.random() < 0.5) && tell()],
  ["it comes late", (parts, tell) => setTimeout(tell, parts ? lateMs : 0)],
  ["it comes twice", (_, tell) => [tell(), setTimeout(tell, 20)]],
] satisfies [string, Pass][])
  test(`what was shown is the record in the end, when ${how}`, async () => {
    for (const path of [
      (run: { id: string }) => `/v1/runs/${run.id}/stream`,
      (run: { session: string }) => `/v1/sessions/${run.session}/stream`,
    ]) {
      const screen = await followed(...twoProcesses(pass), path);
      // Of a session nothing is shown that was not told; its events have it all.
      expect(screen.over.map((text, at) => text === "" || text === replies[at])).toEqual([true, true]);
      expect(screen.left).toBe("");
    }
  });
