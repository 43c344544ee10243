/** Work that waits for people, fails, is stopped or goes on for ever: what the screens of approvals and runs are there for. */
import { z } from "zod";
import { Agent, type Rath, RathError, type Session, scripted, tool, type Workflow } from "../../src/index.ts";
import { editFile } from "../../src/tool/builtin/tools.ts";
import { Flow } from "../support/flow.ts";

const pay = tool({
  name: "pay",
  description: "Pays an invoice from the account of the company.",
  input: z.object({ to: z.string().describe("Whom."), amount: z.number().int().min(1).describe("In cents."), note: z.string().optional() }),
  needsApproval: true,
  approvalExpires: "2d",
  run: ({ to, amount }) => `paid ${to} ${amount}`,
});

const charge = tool({
  name: "charge",
  description: "Charges a card.",
  input: z.object({ card: z.string(), cents: z.number().int() }),
  repeat: "once",
  run: () => Promise.reject(new RathError("effect.unknown", "the connection was lost")),
});

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, no) => signal.addEventListener("abort", () => no(new Error("stopped")), { once: true }));

const survey = z.object({
  send: z.boolean().describe("Send it now"),
  day: z.enum(["monday", "wednesday", "friday"]).describe("On which day"),
  copies: z.number().int().min(1).max(9),
  note: z.string().max(200).optional(),
});

const usage = { input: 1200, output: 90 };
const find = '.replaceAll(" ", "-")';

/** Workflows by the name that runs are started with. */
export const deskWorkflows: Readonly<Record<string, Workflow>> = {
  editor: new Agent({
    name: "editor",
    description: "Changes files once somebody has said yes.",
    tools: [editFile],
    needsApproval: ({ tool: name }) => name === "edit_file",
    model: {
      ...scripted(
        { usage, calls: [{ tool: "edit_file", input: { path: "slugify.js", find, replace: '.replace(/\\s+/g, "-")' } }] },
        "Done.",
      ),
      ...{ id: "acme/fast", free: false },
    },
  }),
  payer: new Flow(async (session) => session.call(pay, { to: "Acme Ltd", amount: 12_500, note: session.messages.at(-1)?.text }), "payer"),
  survey: new Flow(
    async (session) => session.ask("May the letter to our customers go out, and how?", survey, { to: "role:approver" }),
    "survey",
  ),
  asker: new Flow(async (session) => session.ask("May I?"), "asker"),
  elsewhere: new Flow(async (session) => {
    await session.fork().ask("May I, on a branch?");
    return session;
  }, "elsewhere"),
  charger: new Flow(async (session) => session.call(charge, { card: "**** 4242", cents: 990 }), "charger"),
  broken: new Flow(
    async (session) => session.do("index", () => Promise.reject(new Error("the index is 3 GB and the disk has 1"))),
    "broken",
  ),
  endless: new Flow(async (session) => session.do("watch", ({ signal }) => never(signal), { repeat: "safe" }), "endless"),
  nap: new Flow(async (session) => session.wait("3h"), "nap"),
  build: new Flow(async (session) => session.receive("ci"), "build"),
  echo: new Flow(async (session) => session.do("echo", () => session.messages.at(-1)?.text ?? ""), "echo"),
};

/** What waits, by what it is about: the id to decide under. */
export type Waiting = Readonly<Record<"edit" | "pay" | "payToo" | "survey" | "charge", string>>;

export interface Desk {
  readonly waiting: Waiting;
  readonly runs: Readonly<Record<"endless" | "cancelled" | "failed" | "nap" | "build", string>>;
}

/** Starts all of it and waits until it stands still. */
export async function fillDesk(rath: Rath, workspace: string): Promise<Desk> {
  const begun = (title: string): Session => rath.session(`${title}, please.`, { title, tags: ["desk"], principal: "ada" });
  const parked = async (name: string, session: Session): Promise<string> => {
    const settled = await (await rath.run(name, session)).settle();
    const [pending] = settled.status === "waiting" ? settled.pending : [];
    if (pending === undefined) throw new Error(`${name} does not wait: ${JSON.stringify(settled.status)}`);
    return pending.id;
  };
  const waiting = {
    edit: await parked("editor", begun("Replace spaces in slugs").to("memory", { workspace })),
    pay: await parked("payer", begun("Pay the invoice of Acme")),
    payToo: await parked("payer", begun("Pay the invoice of March")),
    survey: await parked("survey", begun("Letter to the customers")),
    charge: await parked("charger", begun("Renew the subscription")),
  };
  const failed = await rath.run("broken", begun("Build the search index"));
  await failed.settle();
  const cancelled = await rath.run("endless", begun("Watch the inbox"));
  await cancelled.cancel("nobody reads it", { by: "human:bob" });
  await cancelled.settle();
  const [nap, build] = [
    await rath.run("nap", begun("Remind me of the call")),
    await rath.run("build", begun("Deploy when the build is green")),
  ];
  await Promise.all([nap.settle(), build.settle()]);
  const endless = await rath.run("endless", begun("Watch the queue"));
  return { waiting, runs: { endless: endless.id, cancelled: cancelled.id, failed: failed.id, nap: nap.id, build: build.id } };
}
