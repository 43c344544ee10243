/** Programs whose sessions are kept: with those of agents they make every kind of event that can be made. Each gives the same bytes whenever it runs. */
import { z } from "zod";
import { type Rath, RathError, type RathOptions, rerun, type Session, Workflow } from "../../src/index.ts";

export interface Case {
  readonly options?: RathOptions;
  record(rath: Rath): Promise<Session>;
}

/** A workflow made of a function. */
class Flow extends Workflow {
  readonly name: string;
  readonly #run: (session: Session) => Promise<Session>;
  constructor(name: string, run: (session: Session) => Promise<Session>) {
    super();
    this.name = name;
    this.#run = run;
  }
  forward(session: Session): Promise<Session> {
    return this.#run(session);
  }
}

const conversation: Case = {
  record: async (rath) =>
    rath
      .session("Fix the failing test", { title: "Nightly", tags: ["ci", "night"], principal: "person:7" })
      .to("docker", { image: "node:22", env: { CI: "1" }, network: { allow: ["registry.npmjs.org"] }, limits: { memory: "1g" } })
      .say([
        { type: "text", text: "With a picture 😀" },
        { type: "reasoning", text: "I looked at it", signature: "c2lnbmVk" },
        { type: "file", mediaType: "image/png", data: new Uint8Array([137, 80, 78, 71]) },
        { type: "file", mediaType: "text/html", data: new URL("https://example.com/log?n=1") },
      ])
      .say("long: ".padEnd(5000, "äöü "))
      .note("seen on main only")
      .link({ system: "jira", id: "A-1", uri: "https://jira.example.com/A-1", digest: "sha256:00" }),
};

const branches: Case = {
  record: async (rath) => {
    const root = rath.session("Which way?");
    const left = root.fork("left").say("left");
    const right = root.fork("right").say("right");
    const again = await left.merge(right, { reason: "both are good", context: "all" });
    const implicit = root.say("first").at(2).say("second");
    return again.merge([implicit, root.at(1).fork().say("from the start")], { context: () => "summary of the rest" });
  },
};

const erased: Case = {
  record: async (rath) => {
    const session = await rath.session("My PIN is 4711", { title: "PIN 4711" }).do("greet", () => "hello");
    const fork = await session.fork("b").do("more", () => "a 4711 again");
    await rath.erase({ matching: "4711" }, { by: "human:ada", reason: "a PIN was pasted" });
    return rath.open(fork.id);
  },
};

const rejected: Case = {
  record: async (rath) => {
    const tried = await rath
      .session("Try it")
      .fork("attempt")
      .do("build", () => "broken");
    return tried.reject("does not build");
  },
};

const detached: Case = {
  record: async (rath) => {
    const origin = await rath.session("Plan").do("think", () => "plan B");
    return origin
      .detach()
      .say("Now do it")
      .do("act", () => "done");
  },
};

const effects: Case = {
  options: { secrets: ["open sesame"] },
  record: async (rath) => {
    let session = rath.session("Work. The word is open sesame");
    session = await session.do("read", () => ({ text: "x".repeat(5000), bytes: new Uint8Array([1, 2, 3]) }), {
      repeat: "safe",
      input: { path: "a" },
    });
    session = await session.do("pay", ({ key }) => ({ key, amount: 12.5 }), { repeat: "keyed" });
    session = await session.do(
      "outer",
      async ({ session: inner }) => {
        const asked = await inner.say("inside").do("inner", () => "deep");
        return (await asked.check("inner check", () => true)).output;
      },
      { repeat: "nested" },
    );
    session = await session.do("fail", () => Promise.reject(new RangeError("too far"))).catch((error: unknown) => sessionOf(error));
    session = await session.check("tests", () => ({ passed: true, score: 0.75, reason: "3 of 4" }));
    session = await session.check("lint", () => false);
    session = await session.check("broken", () => Promise.reject(new Error("no linter")));
    return session.do("odd", () => ({ zero: -0, nan: Number.NaN, gone: undefined, half: "\ud800", $: "mine", 10: 1, 9: 2 }));
  },
};

const timer: Case = {
  record: async (rath) => (await rath.session("Later").wait("1ms")).wait(new Date("2026-01-01T00:00:00.000Z")),
};

const question: Case = {
  record: async (rath) => {
    const answered = rath.session("Choose").ask("How many?", z.object({ count: z.int().min(1) }), { to: "person:7", expires: "7d" });
    const [pending] = await pendingIn(rath);
    await rath.decide(pending?.id ?? "", { by: "person:7", reason: "enough", answer: { count: 3 } });
    return answered;
  },
};

/** Workflows in workflows, called directly; the result is the fork that won, so that the run adopts it, and a loser is cancelled. */
const workflow: Case = {
  record: async (rath) => {
    const inner = new Flow("inner", (session) => session.do("step", () => "stepped"));
    const outer = new Flow("outer", async (session) => {
      const stepped = await inner.forward(session);
      void stepped
        .fork("slow")
        .do("wait for ever", ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)), { repeat: "safe" });
      return stepped.fork("fast").do("quick", () => "won");
    });
    return outer.forward(rath.session("Race"));
  },
};

/** A run that starts another one. */
const spawned: Case = {
  record: async (rath) => {
    const child = new Flow("child", (session) => session.do("work", () => "worked"));
    const parent = new Flow("parent", (session) =>
      session.do(
        "start",
        async ({ key, session: inner }) => {
          const run = await rath.run(child, inner, { key, priority: 2 });
          return String((await run.result()).output);
        },
        { repeat: "keyed" },
      ),
    );
    return (await rath.run(parent, rath.session("Go"), { deadline: new Date("2100-01-01T00:00:00.000Z") })).result();
  },
};

const failed: Case = {
  record: async (rath) => {
    const flow = new Flow("fails", (session) => session.do("break", () => Promise.reject(new Error("broken"))));
    const run = await rath.run(flow, rath.session("Go"));
    return (await run.settle()).session;
  },
};

/** Parked at a question, answered, resumed. */
const parked: Case = {
  record: async (rath) => {
    const flow = new Flow("asks", async (session) => {
      const asked = await (await session.do("prepare", () => "ready")).ask("Go on?");
      return asked.do("finish", () => `answer: ${asked.output}`);
    });
    const run = await rath.run(flow, rath.session("Release"), { key: "release 1" });
    const settled = await run.settle();
    if (settled.status !== "waiting") throw new Error(`the run is ${settled.status}, not waiting`);
    await rath.decide(settled.pending[0]?.id ?? "", { by: "person:7", answer: "yes" });
    return run.result();
  },
};

/** Parked at a question, then let go on with other code. */
const forked: Case = {
  record: async (rath) => {
    let units = "boxes";
    const flow = new Flow("quotes", async (session) => {
      const quoted = await session.do("quote", () => `3 ${units}`, { repeat: "safe", input: units });
      return quoted.ask("Ship it?");
    });
    const run = await rath.run(flow, rath.session("Ship"));
    await run.settle();
    units = "crates";
    const again = await rath.resume(run.id, { onDivergence: "fork" });
    const settled = await again.settle();
    if (settled.status !== "waiting") throw new Error(`the run is ${settled.status}, not waiting`);
    await rath.decide(settled.pending[0]?.id ?? "", { by: "person:7", answer: "yes" });
    return again.result();
  },
};

/** Left while it waits for a person on one branch and for a time on another. */
const waiting: Case = {
  record: async (rath) => {
    const flow = new Flow("waits", async (session) => {
      const [asked, rested] = [session.fork("ask").ask("Which colour?"), session.fork("rest").wait("30d")];
      return (await asked).merge(await rested);
    });
    return (await (await rath.run(flow, rath.session("Paint"))).settle()).session;
  },
};

/** One signal that never comes, and one that is sent while the run is parked. */
const signals: Case = {
  record: async (rath) => {
    const flow = new Flow("sells", async (session) => {
      const quiet = await session.receive("stop", undefined, { expires: "1ms" }).catch((error: unknown) => sessionOf(error));
      const paid = await quiet.receive("paid", z.object({ amount: z.number() }));
      return paid.do("thank", () => `thanks for ${paid.output.amount}`);
    });
    const run = await rath.run(flow, rath.session("Sell"), { key: "sale 7" });
    await run.settle();
    await rath.send(run.id, "paid", { amount: 12 }, { by: "service:shop", key: "payment 7" });
    return run.result();
  },
};

/** A rerun whose changed effect may not be repeated unasked: somebody approves, and it starts. */
const approved: Case = {
  record: async (rath) => {
    const flow = new Flow("sends", async (session) => {
      const read = await session.do("read", () => "a", { input: "file", repeat: "safe" });
      return read.do("send", () => `sent ${read.output}`, { input: read.output });
    });
    const first = await flow.forward(rath.session("Send"));
    const read = [...first.events()].find((event) => event.kind === "do.returned");
    const again = rerun(first, flow, { change: { event: read?.id ?? "", output: "b" } });
    const [pending] = await pendingIn(rath);
    await rath.decide(pending?.id ?? "", { by: "person:7", approve: true });
    return (await again).session;
  },
};

export const sessionCases: Readonly<Record<string, Case>> = {
  erased,
  conversation,
  branches,
  rejected,
  detached,
  effects,
  timer,
  question,
  workflow,
  spawned,
  failed,
  parked,
  forked,
  waiting,
  signals,
  approved,
};

function sessionOf(error: unknown): Session {
  if (!RathError.is(error) || error.session === undefined) throw error;
  return error.session;
}

async function pendingIn(rath: Rath): ReturnType<Rath["pending"]> {
  for (;;) {
    const pending = await rath.pending();
    if (pending.length > 0) return pending;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
