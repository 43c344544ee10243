/** Mistakes in agents, models, tools and workflows: each a typed error that says what is wrong and what to do, before a model is asked. */
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { Agent, type Model, openrath, type Rath, RathError, Selector, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import { providerModel } from "../../src/model/providers.ts";

let asked = 0;
/** A model that costs: it must not be asked. */
const paid: Model = {
  id: "paid",
  async *stream() {
    asked++;
    yield { type: "reply", reply: { parts: [{ type: "text", text: "spent" }], finish: "stop", usage: noUsage } };
  },
};
const noUsage = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 };
const memory = (): Rath => openrath({ store: "memory", models: { paid } });
const agent = (model: string) => new Agent({ name: "writer", model });
const sum = { name: "sum", description: "Adds.", input: z.object({ a: z.number() }), run: () => 1 };
const flow = (name: string, forward: (session: Session) => unknown): Workflow => {
  class Flow extends Workflow {
    readonly name = name;
    async forward(session: Session): Promise<Session> {
      return (await forward(session)) as Session;
    }
  }
  return new Flow();
};
class AsField extends Workflow {
  forward = async (session: Session) => session;
}

const cases: readonly (readonly [string, () => unknown, string, RegExp])[] = [
  [
    "an unknown model string",
    () => memory().ready(agent("foo/bar")),
    "model.unknown",
    /no model "foo\/bar".*openai\/.*openrath\(\{ models \}\)/,
  ],
  ["a model without its provider", () => memory().ready(agent("gpt-5.5")), "model.unknown", /no model "gpt-5.5".*Known prefixes/],
  ["an unknown model when it is used", () => agent("foo/bar").forward(memory().session("hi")), "model.unknown", /no model "foo\/bar"/],
  ["a missing key", () => memory().ready(agent("openai/gpt-5.5")), "model.unavailable", /needs the environment variable OPENAI_API_KEY/],
  ["a missing key when it is used", () => agent("openai/gpt-5.5").forward(memory().session("hi")), "model.unavailable", /OPENAI_API_KEY/],
  ["a missing package", missingPackage, "model.unavailable", /@ai-sdk\/openai.*npm install @ai-sdk\/openai/s],
  ["an agent with no model", () => new Agent({ name: "writer" } as never), "agent.invalid", /"writer" has no model: give one, like/],
  ["an agent with nothing", () => new (Agent as new () => Agent)(), "agent.invalid", /has no model/],
  [
    "an option nobody knows",
    () => new Agent({ model: paid, prompt: "x" } as never),
    "agent.invalid",
    /option "prompt" .*there are: model,/,
  ],
  [
    "a limit nobody knows",
    () => new Agent({ model: paid, limits: { round: 1 } as never }),
    "value.unsupported",
    /limits.round is not known: give rounds/,
  ],
  ["a limit that is none", () => new Agent({ model: paid, limits: { usd: -1 } }), "value.unsupported", /limits.usd is -1: give a number/],
  [
    "a hook nobody calls",
    () => new Agent({ model: paid, hooks: { beforTool: () => undefined } as never }),
    "agent.invalid",
    /hook "beforTool"/,
  ],
  ...[
    ["instructions that are none", { instructions: 5 }, /instructions that are 5: give a string, or a function/],
    [
      "a setting nobody knows",
      { settings: { maxTokens: 5 } },
      /option of settings "maxTokens" that is not known; there are: temperature, max/,
    ],
    ["a temperature that is a word", { settings: { temperature: "hot" } }, /settings.temperature "hot": give a finite number/],
    ["an answer of no length", { settings: { maxOutputTokens: 0 } }, /settings.maxOutputTokens 0: give a whole number from 1/],
    ["a seed that is no whole number", { settings: { seed: 0.5 } }, /settings.seed 0.5: give a whole number/],
    [
      "a choice of tool that is none",
      { settings: { toolChoice: "must" } },
      /settings.toolChoice "must": give one of auto, .*\{ tool: name \}/,
    ],
    ["an effort nobody knows", { settings: { reasoning: "max" } }, /settings.reasoning "max": give one of none, low/],
    [
      "a provider's options without its name",
      { settings: { providerOptions: { user: "a" } } },
      /settings.providerOptions an object: give an object for/,
    ],
    ["settings that are none", { settings: 5 }, /no object as settings: give one with temperature,/],
    ["a misspelt retry", { retry: { attempt: 3 } }, /option of retry "attempt" that is not known; there are: attempts, timeout/],
    ["no attempt at all", { retry: { attempts: 0 } }, /retry.attempts 0: give a whole number from 1/],
    ["a retry that is a number", { retry: 3 }, /no object as retry: give one with attempts, timeout/],
    ["a hook that is no function", { hooks: { beforeModel: 1 } }, /hooks.beforeModel 1: give a function/],
    ["hooks that are none", { hooks: [() => 1] }, /no object as hooks: give one with beforeModel,/],
  ].map(([what, options, message]) => agentCase(what as string, options as object, message as RegExp)),
  [
    "tools that are no list",
    () => new Agent({ model: paid, tools: { a: 1 } as never }),
    "agent.invalid",
    /tools that are no list: write tools: \[/,
  ],
  [
    "a tool whose schema is no object",
    () => tool({ ...sum, input: z.string() as never }),
    "tool.invalid",
    /schema of tool "sum" has no type "object"/,
  ],
  [
    "a tool whose schema JSON cannot say",
    () => tool({ ...sum, input: z.object({ at: z.date() }) }),
    "tool.invalid",
    /Date .*use types that JSON has/,
  ],
  [
    "an output that JSON cannot say",
    () => new Agent({ model: paid, output: z.date() }),
    "agent.invalid",
    /output schema .*use types that JSON has/,
  ],
  [
    "a tool as another library writes it",
    () => tool({ ...sum, run: undefined, execute: () => 1 } as never),
    "value.unsupported",
    /tool "sum".execute is not known: use one of .*run/,
  ],
  [
    "two tools with one name",
    () => new Agent({ model: paid, tools: [tool(sum), tool(sum)] }),
    "agent.invalid",
    /two tools named "sum": rename one/,
  ],
  ...[undefined, 5, { a: 1 }].map((given): (typeof cases)[number] => [
    `instructions that become ${JSON.stringify(given)}`,
    () => new Agent({ name: "writer", model: paid, instructions: async () => given as never }).forward(memory().session("hi")),
    "effect.failed",
    /what the instructions of agent "writer" give is (undefined|5|an object): give a string\./,
  ]),
  // Mutant: only settings of agents are checked.
  ...(
    [
      [{ maxTokens: 5 }, /gave a request that has an option of settings "maxTokens" that is not known; there are: temperature, /],
      [{ temperature: "hot" }, /^The beforeModel hook of agent "writer" gave .* settings\.temperature "hot": give a finite number\.$/],
      ["hot", /gave a request that has no object as settings: give one with temperature, /],
    ] as const
  ).map(([settings, message]): (typeof cases)[number] => [
    `a hook that sets ${JSON.stringify(settings)}`,
    () => hooked((request) => ({ ...request, settings })),
    "agent.hook-failed",
    message,
  ]),
  // Mutant: a refusal that is misspelt refuses nothing, and the model is asked.
  ...(
    [
      [
        { refused: "no" },
        /gave an object without instructions, messages, tools, settings or refuse: give a request, \{ refuse \} with the/,
      ],
      [{ refuse: false }, /gave a refusal that is a boolean: give/],
      ["no", /^The beforeModel hook of agent "writer" gave a string: give a request/],
      [null, /gave null: give a request/],
    ] as const
  ).map(([answer, message]): (typeof cases)[number] => [
    `a hook that gives ${JSON.stringify(answer)}`,
    () => hooked(() => answer),
    "agent.hook-failed",
    message,
  ]),
  [
    "a hook that throws",
    () =>
      hooked(() => {
        throw new Error("boom");
      }),
    "agent.hook-failed",
    /beforeModel hook of agent "writer" threw: boom\. Return \{ refuse \}/,
  ],
  [
    "a workflow that returns text",
    () => flow("talk", () => "text").forward(memory().session("hi")),
    "workflow.invalid",
    /"talk" returned text instead of a Session: return/,
  ],
  [
    "a workflow that returns nothing",
    () => flow("talk", () => undefined).forward(memory().session("hi")),
    "workflow.invalid",
    /"talk" returned undefined/,
  ],
  [
    "forward as a class field",
    () => new AsField(),
    "workflow.invalid",
    /AsField has no forward method: write it as a method.*not as a field/,
  ],
  ["text in place of a session", () => agent("paid").forward("hi" as never), "workflow.invalid", /Expected a Session, got hi/],
  ["two workflows with one name", twoOfOneName, "workflow.invalid", /Two workflows are named "job".*rename one/],
  [
    "a workflow that is none",
    () => openrath({ workflows: { job: "job.ts" as never } }),
    "workflow.invalid",
    /workflows.job is no workflow: give an Agent/,
  ],
  [
    "a workflow that is only forward",
    () => memory().run({ forward: async (session: Session) => session } as never, memory().session("hi")),
    "value.unsupported",
    /^workflow is an object: give what extends Workflow, or the name of one in openrath\(\{ workflows \}\)\.$/,
  ],
  [
    "a registered workflow that is only forward",
    () => openrath({ workflows: { job: { forward: async (session: Session) => session } as never } }),
    "workflow.invalid",
    /workflows.job is no workflow: give an Agent, or an instance of a class that extends Workflow/,
  ],
  [
    "a workflow nobody registered",
    () => memory().run("job", memory().session("hi")),
    "run.unknown-workflow",
    /no workflow "job" here: pass it as openrath/,
  ],
  [
    "a choice without description",
    () => new Selector({ choices: { a: agent("paid") }, choose: paid }),
    "route.invalid",
    /"a" has no description: say what/,
  ],
  [
    "an option of openrath that nobody knows",
    () => openrath({ stroe: "memory" } as never),
    "value.unsupported",
    /no option "stroe". There are: store/,
  ],
  ["a store in memory by its SQLite name", () => openrath({ store: ":memory:" }).ready(), "store.unavailable", /called "memory" here/],
];

afterEach(() => vi.unstubAllEnvs());

test.each(cases)("%s", async (_, act, code, message) => {
  vi.stubEnv("OPENAI_API_KEY", undefined);
  asked = 0;
  const error = await Promise.resolve()
    .then(act)
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  expect(RathError.is(error) ? error.code : error).toBe(code);
  expect((error as RathError).message).toMatch(message);
  expect(asked).toBe(0);
});

test("an agent that failed shows no earlier answer as its own", async () => {
  const writer = new Agent({ model: scripted("first", { text: "half", finish: "length" }) });
  const first = await writer.forward(memory().session("one"));
  const cut = await writer.forward(first.say("two"));
  const failed = await writer.forward(cut.say("three"));
  expect([first.text, cut.text, failed.text]).toEqual(["first", "half", ""]);
  expect([first.stop, cut.stop, failed.stop]).toEqual(["finished", "length", "error"]);
});

test("a script for a Selector reads the routes so far", async () => {
  const choose = scripted((_, { routes }) => ({ output: { choice: routes.length === 0 ? "fix" : "done", reason: "next" } }));
  const fix = new Agent({ model: scripted("fixed"), description: "Repairs." });
  const session = await new Selector({ choices: { fix }, choose }).forward(memory().session("red"));
  expect([session.text, session.routes.map(({ choice }) => choice)]).toEqual(["fixed", ["fix", "done"]]);
});

function agentCase(what: string, options: object, message: RegExp): (typeof cases)[number] {
  return [what, () => new Agent({ model: paid, ...options } as never), "agent.invalid", message];
}

function hooked(beforeModel: (request: object) => unknown): Promise<unknown> {
  return new Agent({ name: "writer", model: paid, hooks: { beforeModel: beforeModel as never } }).forward(memory().session("hi"));
}

async function twoOfOneName(): Promise<unknown> {
  const rath = openrath({ store: "memory", workflows: { job: flow("job", (session) => session) } });
  return rath.run(
    flow("job", (session) => session),
    rath.session("hi"),
  );
}

/** The package is installed here: loading another one that is not stands for its absence. */
function missingPackage(): Promise<unknown> {
  const load = async (from: string): Promise<Readonly<Record<string, unknown>>> => import(/* @vite-ignore */ `${from}-that-nobody-has`);
  return providerModel("openai/gpt-5.5", { env: { OPENAI_API_KEY: "key" }, load });
}
