/**
 * One piece of work in which everything happens, through the public doors alone: a team repairs a repository, one of them dies on the
 * way, people decide, and what was learned is kept. The models are scripts that cost what real ones would.
 */
import { z } from "zod";
import { Agent, Compressor, type Model, Selector, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import type { Script } from "../../src/model/model.ts";
import { editFile, readFile, shell } from "../../src/tool/builtin/tools.ts";
import type { Mcp } from "../../src/tool/mcp.ts";

/** What the work needs from outside; given again by whoever resumes. */
export interface Deps {
  upload(version: string): Promise<string>;
}

export const task = "The tests of this repository fail. Make them pass and release 1.0.1.";
export const before = 'export const slugify = (title) => title.toLowerCase().replaceAll(" ", "-");\n';
export const small = 'export const slugify = (title) => title.toLowerCase().replace(/[^a-zç]+/g, "-");\n';
export const wrong = 'export const slugify = (title) => title.normalize("NFC").toLowerCase().replace(/[^a-z0-9]+/g, "-");\n';
export const right =
  'const plain = (title) => title.normalize("NFD").replace(/\\p{M}/gu, "");\n' +
  'export const slugify = (title) => plain(title).toLowerCase().replace(/[^a-z0-9]+/g, "-");\n';
export const repository: Readonly<Record<string, string>> = { "slugify.js": before, "CHANGES.md": "# Changes\n" };
export const testCommand = "grep -q NFD slugify.js && echo 'ok 2 of 2' || { echo 'not ok: accents are left in'; exit 1; }";

/** The price of a million tokens. */
export const prices = { "acme/fast": { input: 1, output: 4 }, "acme/deep": { input: 10, output: 40 } };

/** Each reply reads 1000 tokens and writes 100: 0.0014 dollars with the fast one, 0.014 with the deep one. */
function model(id: keyof typeof prices, ...replies: readonly Script[]): Model {
  const usage = { input: 1000, output: 100 };
  const priced = replies.map((script) => {
    if (typeof script === "function") return script;
    return { usage, ...(typeof script === "string" ? { text: script } : script) };
  });
  return { ...scripted(...priced), id, free: false };
}

const calls = (...list: readonly (readonly [tool: string, input: unknown])[]) => ({
  calls: list.map(([name, input]) => ({ tool: name, input })),
});
const replace = (find: string, text: string) => calls(["edit_file", { path: "slugify.js", find, replace: text }]);

/** Fails the first time it is tried. */
function advisory() {
  const tried = new Set<string>();
  return tool({
    name: "advisory",
    description: "Known problems of a package.",
    input: z.object({ package: z.string() }),
    repeat: "safe",
    retry: { attempts: 2 },
    run: ({ package: name }, { key }) => {
      if (tried.has(key)) return `${name}: none`;
      tried.add(key);
      throw new Error("the registry is busy");
    },
  });
}
const publish = tool({
  name: "publish",
  description: "Publishes a version under a tag.",
  input: z.object({ version: z.string(), tag: z.string() }),
  needsApproval: true,
  run: ({ version, tag }) => `${version} is published as ${tag}`,
});
const announce = tool({
  name: "announce",
  description: "Writes to everybody.",
  input: z.object({ to: z.string() }),
  needsApproval: true,
  run: () => "sent",
});

const Plan = z.object({ steps: z.array(z.string()) });
const Verdict = z.object({ accept: z.boolean(), reason: z.string() });
const Ci = z.object({ build: z.number(), green: z.boolean() });

/** The earlier session: what a person says and what a tool shows is remembered for later ones. */
export class Learn extends Workflow {
  readonly name = "learn";
  async forward(session: Session) {
    const tried = await session.call(shell, { command: "grep -c slugify slugify.js" });
    const said = session.messages[0]?.event ?? "";
    const style = await tried.remember({ key: "style", content: "Slugs of this repository keep accents.", because: [said] });
    return style.remember({ key: "test-command", content: testCommand, because: tried.calls.map(({ id }) => id) });
  }
}

/** Finds out what is to be done: reads, asks others, and hands over to whoever writes the plan down. */
class Planning extends Workflow {
  readonly description = "Finds out what is to be done.";
  readonly lead: Agent<z.infer<typeof Plan>>;
  readonly planner: Agent;

  constructor(board: Mcp, ticket: string) {
    super();
    const researcher = new Agent({
      name: "researcher",
      description: "Looks things up.",
      model: model("acme/fast", "NFD splits letters from their accents."),
    });
    this.lead = new Agent({
      name: "lead",
      description: "Writes the plan down.",
      model: model("acme/deep", { output: { steps: ["split accents off", "run the tests", "note the change"] } }),
      output: Plan,
    });
    this.planner = new Agent({
      tools: [readFile, advisory(), researcher.asTool({ name: "research" }), ...board.tools.filter((one) => one.name !== "read_file")],
      memory: { scope: "project", limit: 2 },
      handoffs: [this.lead],
      model: model(
        "acme/fast",
        { ...calls(["read_file", { path: "slugify.js" }], ["advisory", { package: "slugs" }]), fail: "rate-limit" },
        calls(["research", "{ task: "]),
        calls(["research", { task: "How are accents dropped?" }], ["read_text_file", { path: ticket }]),
        calls(["write_file", { path: ticket, content: "slugs: in progress\n" }]),
        calls(["transfer_to_lead", {}]),
      ),
    });
  }

  async forward(session: Session) {
    return this.planner.forward(session);
  }
}

/** Two coders try two ways, a third has too little money, and a writer notes the change; one way and the note are joined. */
class Attempts extends Workflow {
  readonly description = "Carries the plan out.";
  readonly quick = new Agent({
    tools: [editFile],
    model: model("acme/fast", replace(before, small), "One line will do."),
  });
  readonly careful = new Agent({
    tools: [editFile, shell],
    model: model(
      "acme/deep",
      replace(before, wrong),
      calls(["shell", { command: testCommand }]),
      "The tests still fail.",
      replace(wrong, right),
      "Accents are split off and dropped.",
    ),
  });
  readonly costly = new Agent({
    tools: [shell],
    limits: { usd: 0.02 },
    model: model("acme/deep", calls(["shell", { command: "true" }]), "never said"),
  });
  readonly writer = new Agent({
    tools: [shell],
    model: model("acme/fast", calls(["shell", { command: "echo '- slugs drop accents' >> CHANGES.md" }]), "The change is noted."),
  });

  async forward(session: Session) {
    const [one, two, noted, stopped] = await Promise.all([
      this.#small(session.fork("small")),
      this.#thorough(session.fork("thorough")),
      this.#notes(session.fork("notes")),
      this.costly.forward(session.fork("costly").say("Rewrite it all.")),
    ]);
    one.reject("accents are left in");
    stopped.reject(`stopped: ${stopped.stop}`);
    const joined = await two.merge(noted, { reason: "the fix and its note belong together" });
    return joined.check("tests", tests);
  }

  async #small(session: Session) {
    const coded = await this.quick.forward(session.say("Make the smallest change."));
    const kept = await coded.remember({ key: "small-fix", content: "One line will do." });
    return kept.check("tests", tests);
  }

  async #thorough(session: Session) {
    const coded = await this.careful.forward(session.say("Fix the cause."));
    const tested = await coded.check("tests", tests);
    return (await this.careful.forward(tested.say(`The tests say: ${tested.checks.at(-1)?.reason}`))).check("tests", tests);
  }

  async #notes(session: Session) {
    const written = await this.writer.forward(session.say("Note the change."));
    return written.remember({
      key: "changelog",
      content: "Changes are noted in CHANGES.md.",
      because: written.calls.slice(-1).map(({ id }) => id),
    });
  }
}

/** Runs what an earlier session has learned. */
const tests: Parameters<Session["check"]>[1] = async ({ session, sandbox }) => {
  const { content = "false" } = session.memory.reads.find(({ key }) => key === "test-command") ?? {};
  const { exitCode, stdout } = await sandbox.exec(content);
  return { passed: exitCode === 0, score: exitCode === 0 ? 1 : 0.5, reason: stdout.trim() };
};

export class Repair extends Workflow {
  readonly name = "repair";
  readonly desk: Selector<"plan" | "attempt">;
  readonly shorter = new Compressor({
    policy: { summariseAt: 100, keep: 0 },
    model: model("acme/fast", "The plan was carried out; the tests pass."),
  });
  readonly reviewer = new Agent({
    model: model("acme/deep", { output: { accept: true, reason: "It fixes the cause." } }),
    output: Verdict,
  });
  readonly releaser = new Agent({
    tools: [publish, announce],
    model: model(
      "acme/fast",
      calls(["publish", { version: "1.0.1", tag: "latest" }]),
      calls(["announce", { to: "everybody" }]),
      "It is published and not announced.",
    ),
  });

  constructor(board: Mcp, place: { readonly ticket: string; readonly sandbox: string }) {
    super();
    this.desk = new Selector({
      choices: { plan: new Planning(board, place.ticket), attempt: new Attempts() },
      choose: ({ routes, text }) => {
        if (routes.length === 0) return { choice: "plan", reason: "nothing is planned yet", memory: "project" };
        if (routes.length > 1) return { choice: "done", reason: "the tests pass" };
        const placement = { sandbox: place.sandbox, env: { CI: "1" } };
        return { choice: "attempt", reason: "there is a plan", context: `Carry out this plan: ${text}`, placement, check: "tests" };
      },
    });
  }

  async forward(session: Session) {
    const recalled = await session.recall("how the tests of this repository are run: grep", { scope: "project", limit: 1 });
    const built = await this.desk.forward(recalled);
    const short = await this.shorter.forward(built);
    const reviewed = await this.reviewer.forward(short.say(`Accept this patch?\n${await short.files.patch()}`));
    const { accept, reason } = reviewed.output;
    const judged = await reviewed.check("review", () => ({ passed: accept, reason }));
    const uploaded = await judged.do("upload", ({ deps }) => (deps as Deps).upload("1.0.1"), { input: { version: "1.0.1" } });
    const released = await this.releaser.forward(uploaded.say("Publish it, and tell everybody."));
    const answered = await released.ask("On which day may it go out?", z.enum(["monday", "friday"]), { to: "ada" });
    const seen = await answered.receive("ci", Ci);
    return this.#learned(seen.note(`build ${seen.output.build} is green: ${seen.output.green}`));
  }

  async #learned(session: Session) {
    const verdict = session.checks.findLast(({ name }) => name === "tests")?.event ?? "";
    const rule = await session.remember({ key: "slug-rule", content: "Slugs drop accents.", because: [verdict] });
    const old = await rule.forget("style", "slugs drop accents now");
    return old.remember({ key: "release-day", content: "Ada releases on mondays.", scope: "user" });
  }
}

/** A second run on the same session. */
export const follow = new Agent({
  name: "follow",
  memory: { scope: "project", limit: 1 },
  tools: [shell],
  model: model("acme/fast", calls(["shell", { command: "cat CHANGES.md" }]), "Slugs drop accents; nothing is left to do."),
});
