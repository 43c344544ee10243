/** Programs with agents, tools and Selectors whose sessions are kept. All models are scripts, so that each gives the same bytes whenever it runs. */
import { z } from "zod";
import { Agent, type Model, type Rath, Selector, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import type { Case } from "./cases.ts";

const weather = tool({
  name: "weather",
  description: "Weather of a city.",
  input: z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C") }),
  repeat: "safe",
  resource: ({ city }) => city,
  run: ({ city, unit }) => {
    if (city === "Atlantis") throw new RangeError("it is under water");
    return { city, unit, degrees: 20 };
  },
});

const mail = tool({
  name: "mail",
  description: "Sends a letter.",
  input: z.object({ to: z.string(), text: z.string() }),
  needsApproval: true,
  run: ({ to, text }) => `sent ${text.length} characters to ${to}`,
});

/** One agent, two rounds: calls that go well, fail, wait for a resource, do not fit, or are nobody's; then an answer with reasoning. */
const agent: Case = {
  record: (rath) =>
    new Agent({
      name: "forecaster",
      instructions: "Be brief.",
      settings: {
        temperature: 0.5,
        maxOutputTokens: 400,
        seed: 7,
        toolChoice: "required",
        reasoning: "low",
        providerOptions: { x: { y: 1 } },
      },
      tools: [weather],
      model: scripted(
        {
          text: "I shall look.",
          calls: [
            { tool: "weather", input: { city: "Lisbon" } },
            { tool: "weather", input: { city: "Lisbon", unit: "F" } },
            { tool: "weather", input: { city: "Atlantis" } },
            { tool: "weather", input: { town: "Porto" } },
            { tool: "weather", input: '```json\n{"city": "Porto",}\n```' },
            { tool: "weather", input: "{broken" },
            { tool: "tides", input: "" },
          ],
        },
        { calls: [{ tool: "weather", input: { city: "Faro" } }] },
        {
          reasoning: "All three are warm.",
          text: "It is warm.",
          usage: { input: 900, output: 30, cached: 600, cacheWrite: 100, reasoning: 5 },
        },
      ),
    }).forward(rath.session("Is it warm?")),
};

/** Answers that do not fit are corrected; a first agent gives up, a second one succeeds. */
const output: Case = {
  record: async (rath) => {
    const plan = z.object({ steps: z.array(z.string()).min(1) });
    const hasty = new Agent({ name: "hasty", model: scripted("one", "two", "three"), output: plan });
    const planner = new Agent({
      name: "planner",
      model: scripted({ output: { steps: [] } }, { output: { steps: ["a", "b"] } }),
      output: plan,
    });
    return planner.forward((await hasty.forward(rath.session("Plan."))).say("Try again."));
  },
};

/** Every way to stop that needs no person and no signal. */
const stops: Case = {
  record: async (rath) => {
    let session = rath.session("Go on.");
    const again = scripted(...Array.from({ length: 3 }, () => ({ calls: [{ tool: "weather", input: { city: "Faro" } }] })));
    const agents = [
      new Agent({ name: "long", model: scripted({ text: "half an ans", finish: "length" }) }),
      new Agent({ name: "shy", model: scripted({ text: "No.", finish: "refused" }) }),
      new Agent({ name: "busy", model: again, tools: [weather], limits: { rounds: 2 } }),
      new Agent({ name: "poor", model: scripted("rich"), limits: { tokens: 40 } }),
      new Agent({ name: "mute", model: scripted() }),
      new Agent({ name: "last", model: scripted("the end") }),
    ];
    for (const one of agents) session = (await one.forward(session)).say("And?");
    return session;
  },
};

/** What a person approved, as it was and with another input, and what was denied: by a person, by a rule, by a limit. */
const decided: Case = {
  options: {
    policy: [
      { deny: ["wire_*"] },
      { calls: 3, agents: ["clerk"] },
      { principals: ["person:1"], needsApproval: ({ tool: name }) => name === "weather" },
    ],
  },
  record: async (rath) => {
    const wire = tool({ name: "wire_money", description: "Sends money.", input: z.object({}), run: () => "gone" });
    const toAnn = { tool: "mail", input: { to: "ann", text: "all of it" } };
    const clerk = new Agent({
      name: "clerk",
      tools: [mail, wire, weather],
      model: scripted(
        { calls: [toAnn, { tool: "wire_money", input: {} }] },
        { calls: [{ tool: "mail", input: { to: "bob", text: "hello" } }] },
        { calls: [{ tool: "weather", input: { city: "Faro" } }] },
        { calls: [toAnn] },
        "Done.",
      ),
    });
    const answer = clerk.forward(rath.session("Write to them.", { principal: "person:1" }));
    const ann = await firstPending(rath);
    await rath.decide(ann, { by: "person:7", reason: "shorter", approve: true, input: { to: "ann", text: "part of it" } });
    const bob = await firstPending(rath, ann);
    await rath.decide(bob, { by: "person:7", approve: false, reason: "not today" });
    await rath.decide(await firstPending(rath, bob), { by: "person:7", approve: true });
    return answer;
  },
};

/** A run that is parked at an approval while another call of the round is done, and goes on. */
const approval: Case = {
  record: async (rath) => {
    const clerk = new Agent({
      name: "clerk",
      tools: [mail, weather],
      needsApproval: ({ input }) => (input as { city?: string }).city === "Porto",
      model: scripted({ calls: ["Faro", "Porto"].map((city) => ({ tool: "weather", input: { city } })) }, "Done."),
    });
    const run = await rath.run(clerk, rath.session("Look."), { key: "look", limits: { usd: 2 } });
    const settled = await run.settle();
    if (settled.status !== "waiting") throw new Error(`the run is ${settled.status}, not waiting`);
    await rath.decide(settled.pending[0]?.id ?? "", { by: "person:7", approve: true });
    return run.result();
  },
};

/** A call of which nobody knows at first whether it waits: its run says that somebody is asked about it. */
const asked: Case = {
  record: async (rath) => {
    const drop = tool({
      name: "drop",
      description: "Drops a table",
      input: { type: "object", properties: { table: { type: "string" } } },
      needsApproval: true,
      run: () => "dropped",
    });
    const clerk = new Agent({
      name: "clerk",
      tools: [drop],
      model: scripted({ calls: [{ tool: "drop", input: { table: "orders" } }] }, "Done."),
    });
    const run = await rath.run(clerk, rath.session("Clean up."), { key: "clean" });
    const settled = await run.settle();
    if (settled.status !== "waiting") throw new Error(`the run is ${settled.status}, not waiting`);
    await rath.decide(settled.pending[0]?.id ?? "", { by: "person:7", approve: true });
    return run.result();
  },
};

/** A function writes the instructions; hooks change a request, an input and a value, and refuse a call and at last a request. */
const hooks: Case = {
  record: async (rath) => {
    let asked = 0;
    return new Agent({
      name: "guarded",
      instructions: (session) => `You were asked: ${session.messages.at(-1)?.text}`,
      tools: [weather],
      model: scripted({ calls: ["Lisbon", "Faro"].map((city) => ({ tool: "weather", input: { city } })) }, "never asked"),
      hooks: {
        beforeModel: (request) => {
          if (++asked === 2) return { refuse: "once is enough" };
          const parts = [{ type: "text", text: "Is it warm? Think." }] as const;
          return { ...request, instructions: `${request.instructions} Be kind.`, messages: [{ role: "user", parts }] };
        },
        beforeTool: ({ input }) => ((input as { city: string }).city === "Faro" ? { refuse: "not Faro" } : { input: { city: "Porto" } }),
        afterTool: ({ outcome }) => (outcome.type === "ok" ? { value: "warm" } : undefined),
      },
    }).forward(rath.session("Is it warm?"));
  },
};

/** An agent as a tool of another one, with a tool of its own; its work is nested in the call. */
const nested: Case = {
  record: (rath) => {
    const expert = new Agent({
      name: "expert",
      description: "Knows the weather.",
      tools: [weather],
      model: scripted({ calls: [{ tool: "weather", input: { city: "Faro" } }] }, "20 degrees"),
    });
    const ask = expert.asTool({ name: "ask", input: z.object({ about: z.string() }), say: ({ about }) => `Tell me about ${about}.` });
    const boss = new Agent({
      name: "boss",
      tools: [ask],
      model: scripted({ calls: [{ tool: "ask", input: { about: "Faro" } }] }, "It is warm."),
    });
    return boss.forward(rath.session("Is it warm in Faro?"));
  },
};

const handoff: Case = {
  record: (rath) => {
    const expert = new Agent({ name: "weather expert", description: "Knows the weather.", model: scripted("It is warm.") });
    const model = scripted({ text: "Somebody else knows.", calls: [{ tool: "transfer_to_weather_expert", input: {} }] });
    return new Agent({ name: "desk", model, handoffs: [expert] }).forward(rath.session("Is it warm?"));
  },
};

/** Routes by a function, with all that a route can name, then by a model, in nested work. */
const routes: Case = {
  record: async (rath) => {
    const writer = new Agent({ name: "writer", description: "Writes.", model: scripted("a draft", "a better draft") });
    const checked = new (class extends Workflow {
      readonly name = "checked";
      readonly description = "Writes and checks.";
      async forward(session: Session) {
        return (await writer.forward(session)).check("length", () => true);
      }
    })();
    const byRule = new Selector({
      choices: { checked },
      choose: ({ routes: before }) =>
        before.length > 0
          ? "done"
          : {
              choice: "checked",
              reason: "nothing yet",
              context: "the task",
              memory: "project",
              placement: { sandbox: "memory" },
              check: "length",
            },
    });
    const byModel = new Selector({
      choices: { checked, writer },
      choose: scripted({ output: { choice: "nobody", reason: "?" } }, { output: { choice: "writer", reason: "it can be better" } }),
      instructions: "Be quick.",
      limits: { rounds: 1 },
    });
    return byModel.forward(await byRule.forward(rath.session("Write.")));
  },
};

/** A run with limits: an answer is shortened to what is left, then nothing is left. Money without a price is refused. */
const budget: Case = {
  record: async (rath) => {
    const flow = new (class extends Workflow {
      readonly name = "spender";
      talker = new Agent({ name: "talker", model: scripted("one", { text: "two", usage: { output: 700 } }, "three") });
      buyer = new Agent({ name: "buyer", model: paid(), limits: { usd: 1 } });
      async forward(session: Session) {
        let at = session;
        for (const word of ["first", "second", "third"]) at = await this.talker.forward(at.say(word));
        return this.buyer.forward(at.say("Buy."));
      }
    })();
    const run = await rath.run(flow, rath.session("Talk."), { limits: { rounds: 9, tokens: 1000, time: "1h" } });
    return run.result();
  },
};

/** Attempts that failed on the way: an unknown model, a rate limit, a stream cut in the middle; a tool that needed three attempts, and one that is too slow. */
const failures: Case = {
  record: (rath) => {
    let tries = 0;
    const flaky = tool({
      name: "flaky",
      description: "Works at last.",
      input: z.object({}),
      repeat: "keyed",
      retry: { attempts: 3 },
      run: () => {
        if (++tries < 3) throw new Error(`attempt ${tries} failed`);
        return tries;
      },
    });
    const slow = tool({
      name: "slow",
      description: "x",
      input: z.object({}),
      repeat: "safe",
      timeout: "1ms",
      run: () => new Promise(() => {}),
    });
    const replies = scripted(
      { fail: "rate-limit", calls: [{ tool: "flaky", input: {} }] },
      { calls: [{ tool: "slow", input: {} }] },
      { fail: "cut", text: "It worked after all, and I can say so at length." },
    );
    return new Agent({ name: "patient", model: ["nobody/nothing", replies], tools: [flaky, slow] }).forward(rath.session("Try."));
  },
};

/** A reply of a model that costs something nobody knows, with every kind of part and what its provider keeps beside them. */
const reply: Case = {
  record: (rath) => new Agent({ name: "drawer", model: paid() }).forward(rath.session("Draw.")),
};

/** The same with a price, which is kept with the reply, and a limit on money, which shortens the answer. */
const priced: Case = {
  options: { prices: { "studio/brush-1": { input: 2, output: 10, cached: 0.2 } } },
  record: (rath) => new Agent({ name: "drawer", model: paid(), limits: { usd: 0.01 } }).forward(rath.session("Draw.")),
};

/** Two agents on two forks; a third reads of both what each way to merge lets it. */
const joined: Case = {
  record: async (rath) => {
    const coder = new Agent({
      name: "coder",
      model: scripted({ calls: [{ tool: "weather", input: { city: "Faro" } }] }, "done"),
      tools: [weather],
    });
    const judge = new Agent({ name: "judge", model: scripted("good", "better", "best", "all good") });
    const root = await judge.forward(rath.session("Do it."));
    const branch = async (label: string) => (await coder.forward(root.fork(label).say(label))).check("tests", () => label !== "c");
    const [a, b, c, d] = (await Promise.all(["a", "b", "c", "d"].map(branch))) as [Session, Session, Session, Session];
    const first = await judge.forward(await a.merge(b));
    const second = await judge.forward(await first.merge(c, { context: "all", reason: "to see" }));
    const third = await second.merge(d, { context: () => "The last one failed." });
    // Nothing was said on the receiver since it forked: the other one is read as it is.
    return judge.forward(await root.fork("late").merge(third));
  },
};

/** A tool that may not be repeated takes too long: nobody knows what became of it, until somebody says so. */
const unknown: Case = {
  record: async (rath) => {
    const slow = tool({
      name: "slow",
      description: "Takes for ever.",
      input: z.object({}),
      timeout: "1ms",
      run: () => new Promise(() => {}),
    });
    const waits = new Agent({ name: "waits", tools: [slow, weather], model: scripted({ calls: [{ tool: "slow", input: {} }] }, "I see.") });
    const answer = waits.forward(rath.session("Do it."));
    await rath.decide(await firstPending(rath), { by: "person:7", outcome: { type: "cancelled", reason: "I pulled the plug" } });
    return answer;
  },
};

/** A result of which a model reads only the beginning, and tools that code calls, which a model does not read. */
const long: Case = {
  record: async (rath) => {
    const dump = tool({ name: "dump", description: "Long.", input: z.object({}), repeat: "safe", run: () => "0123456789".repeat(5001) });
    const read = new Agent({ name: "reads", tools: [dump], model: scripted({ calls: [{ tool: "dump", input: {} }] }, "It is long.") });
    return (await read.forward(rath.session("Read."))).call(weather, { city: "Faro" });
  },
};

/** Costs something, and nobody has its price. */
function paid(): Model {
  return {
    id: "studio/brush-1",
    async *stream() {
      const metadata = { studio: { trace: "abc" } };
      yield { type: "text-delta", text: "Here" };
      yield {
        type: "reply",
        reply: {
          parts: [
            { type: "reasoning", text: "A circle.", signature: "c2lnbmVk", metadata },
            { type: "text", text: "Here it is.", metadata },
            { type: "file", mediaType: "image/png", data: new Uint8Array([137, 80, 78, 71]) },
            { type: "source", url: "https://example.com/circle", title: "Circles" },
          ],
          finish: "stop",
          usage: { input: 100, output: 50, cached: 20, cacheWrite: 10, reasoning: 8 },
          model: "brush-1-2026-11",
          id: "resp_1",
          warnings: ["seed is not supported"],
          metadata,
        },
      };
    },
  };
}

/** The first thing that waits, other than what was answered already. */
async function firstPending(rath: Rath, answered?: string): Promise<string> {
  for (;;) {
    const [pending] = await rath.pending();
    if (pending !== undefined && pending.id !== answered) return pending.id;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export const agentCases: Readonly<Record<string, Case>> = {
  agent,
  output,
  stops,
  decided,
  approval,
  asked,
  hooks,
  nested,
  handoff,
  routes,
  budget,
  failures,
  reply,
  priced,
  joined,
  unknown,
  long,
};
