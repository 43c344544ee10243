/**
 * A session as a report for people, to be pasted into a pull request: what was to be done, what came of it, which branches there
 * were, what changed and how that was checked. Never longer than asked; what does not fit is said to be left out.
 */
import { takenBy } from "../../runtime/file-verbs.ts";
import { runtimeOf } from "../../runtime/replay.ts";
import type { Node } from "../../session/log.ts";
import type { MemoryItem } from "../../session/memory.ts";
import type { Decided, Session, ToolCall } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { outcomeText } from "../../wire/event-line.ts";
import { count, money, plural, seconds } from "../../wire/format.ts";
import { readLine, writeLine } from "../../wire/memory-line.ts";
import { neutralJson } from "../../wire/neutral.ts";
import { decidedText, pendingText } from "../../wire/pending-line.ts";
import { patchBetween } from "../../workspace/patch.ts";
import { branchesOf } from "../branches.ts";
import { costsOf } from "../cost.ts";
import { decisions } from "../decisions.ts";
import { type Graph, graph } from "../graph.ts";
import { journalsOf, ofKind } from "../journals.ts";
import { type Fate, memoryFates } from "../memory-fates.ts";
import { code, fenced, fitting, folded, summaryCode } from "./markdown-text.ts";

/** How long a report may be. */
export interface MarkdownOptions {
  /** In characters; the default fits into a comment on GitHub. At least 4000. */
  readonly longest?: number | undefined;
}

const fits = 60_000;
const least = 4000;
/** More branches than this are listed, not drawn. */
const drawn = 20;

/** The report. */
export async function* markdownLines(session: Session, options: MarkdownOptions): AsyncGenerator<string, void> {
  const longest = Math.max(least, options.longest ?? fits);
  const room = (share: number): number => Math.floor(longest * share);
  const lineage = await graph(session);
  const { tokens, calls, fates, workflow } = await onAllBranches(session);
  const short: readonly (string | undefined)[] = [
    heading(session, lineage, tokens),
    section("Task", fenced(taskOf(session), "text", room(0.05))),
    section("Outcome", outcomeOf(session, room(0.06))),
    section("Branches", waysOf(lineage, room(0.08))),
    section("Checks", checksOf(session, room(0.05))),
    section("Decisions", decisionsOf(await decisions(session), room(0.04))),
    section("Memory", memoryOf(session, fates, room(0.06))),
    section("Files", await filesOf(session, room(0.05), room(0.25))),
    section("Tool calls", callsOf(session, calls, room(0.15))),
    section("Conversation", conversationOf(session, room(0.15))),
    section("Replay", replayOf(session, workflow)),
  ];
  yield short.filter((part) => part !== undefined).join("\n\n");
}

/** What others count too who look at the whole lineage: the branches that are no part of the session itself. */
async function onAllBranches(session: Session) {
  const runtime = runtimeOf(session);
  const nodes = (await branchesOf(session)).flatMap((branch) => branch.nodes);
  const { rows, total } = costsOf(nodes, "tool", runtime);
  const said = await journalsOf(runtime, nodes, ["run.started", "memory.published"]);
  const started = new Map(ofKind(said, "run.started").map(({ run, data }) => [run, data.workflow]));
  return {
    workflow: workflowBehind(session, started),
    tokens: total.usage.input + total.usage.output,
    calls: rows.reduce((sum, row) => sum + row.calls, 0),
    fates: memoryFates(ofKind(said, "memory.published").map(({ data }) => data)),
  };
}

/** The workflow whose newest run the session came out of; undefined where none ran, so that there is nothing to replay. */
function workflowBehind(session: Session, started: ReadonlyMap<string, string>): string | undefined {
  for (let node: Node | undefined = placeOf(session).node; node !== undefined; node = node.parent) {
    const workflow = started.get(node.run ?? "");
    if (workflow !== undefined) return workflow;
  }
  return undefined;
}

/** Said where branches beside the session have some as well. */
function ofAll(own: number, all: number, what: string): string {
  return own === all ? "" : `, in this session's own past; ${count(all)} ${what} on all branches`;
}

function section(title: string, body: string | undefined): string | undefined {
  return body === undefined || body === "" ? undefined : `## ${title}\n\n${body}`;
}

function heading(session: Session, { nodes }: Graph, tokens: number): string {
  const { usage } = session;
  const title = placeOf(session).node.log.about.title;
  const begun = placeOf(session).node.log.first?.at ?? "";
  const facts = [
    `session ${code(session.id)} at step ${session.step}`,
    `${session.status}${session.stop === undefined ? "" : `, stopped: ${session.stop}`}`,
    plural(nodes.length, "branch"),
    ...(tokens === 0
      ? []
      : [
          `${plural(usage.input, "token")} in, ${count(usage.output)} out, ${money(usage.usd)}${usage.cached > 0 ? `, ${count(usage.cached)} cached` : ""}${ofAll(usage.input + usage.output, tokens, "tokens")}`,
        ]),
    seconds(Math.max(0, session.now().getTime() - Date.parse(begun))),
  ];
  return `# ${title === undefined ? "Session" : code(title)}\n\n${facts.map((fact) => `- ${fact}`).join("\n")}`;
}

function taskOf({ messages }: Session): string {
  return messages.find(({ role }) => role === "user")?.text ?? "(nobody said anything)";
}

function outcomeOf(session: Session, room: number): string {
  const said = session.text;
  const pending = session.pending.map(({ kind, by }) => `- waits: ${kind} (${code(by)})`).slice(0, 20);
  return [said === "" ? `The session is ${session.status}.` : fenced(said, "text", room), ...pending].join("\n\n");
}

function waysOf({ nodes, toMermaid }: Graph, room: number): string | undefined {
  if (nodes.length < 2) return undefined;
  const lines = nodes.map(({ label, kind, status, reason, won, current }) => {
    const facts = [kind, status, ...(won ? ["won"] : []), ...(current ? ["this session"] : [])];
    return `- ${code(label, 60)}: ${facts.join(", ")}${reason === undefined ? "" : `, because ${code(reason)}`}`;
  });
  const picture = nodes.length <= drawn ? toMermaid() : "";
  const shown = picture !== "" && picture.length < room ? [folded("Drawing", fenced(picture, "mermaid"))] : [];
  return [lines.length <= 50 ? lines.join("\n") : fitting(lines, room, "branches", "\n"), ...shown].join("\n\n");
}

function checksOf({ checks }: Session, room: number): string {
  return fitting(
    checks.map(({ name, passed, score, reason }) => {
      const about = [...(score === undefined ? [] : [String(score)]), ...(reason === undefined ? [] : [code(reason)])];
      return `- ${passed ? "passed" : "**failed**"}: ${code(name)}${about.length === 0 ? "" : ` (${about.join(", ")})`}`;
    }),
    room,
    "checks",
    "\n",
  );
}

function decisionsOf(decided: readonly Decided[], room: number): string {
  return fitting(
    decided.map((one) => {
      const { by = "", at = "", reason } = one;
      return `- ${code(pendingText(one.pending))}: ${code(decidedText(one))} by ${code(by)}, ${at}${reason === undefined ? "" : `, because ${code(reason)}`}`;
    }),
    room,
    "decisions",
    "\n",
  );
}

function memoryOf({ memory }: Session, fates: ReadonlyMap<string, Fate>, room: number): string {
  const event = (id: string): string => id.slice(0, 12);
  const became = ({ state, event: id }: MemoryItem): string | undefined => (state === "staged" ? fateText(fates.get(id)) : undefined);
  const lines = [
    ...memory.reads.map((read) => `- recalled ${code(readLine(read), 200)}`),
    ...memory.writes.map((item) => `- learned ${code(writeLine(item, event, { became: became(item) }), 200)}`),
  ];
  return fitting(lines, room, "memories", "\n");
}

function fateText(fate: Fate | undefined): string | undefined {
  if (fate?.state === "held") return `held: ${fate.reason}`;
  return fate?.state === "refused" ? `refused: others wrote version ${fate.current} meanwhile` : fate?.state;
}

async function filesOf(session: Session, room: number, patchRoom: number): Promise<string | undefined> {
  const changes = await session.files.changes();
  if (changes.length === 0) return undefined;
  const list = fitting(
    changes.map(({ kind, path }) => `- ${kind} ${code(path)}`),
    room,
    "files",
    "\n",
  );
  const { sandboxes } = runtimeOf(session);
  const taken = takenBy(sandboxes, placeOf(session).node) ?? session.files.hash;
  const patch = await patchBetween(sandboxes.trees, taken, session.files.hash, { limit: patchRoom, binary: "named" });
  return `${list}\n\n${folded(`Patch of ${plural(changes.length, "file")}`, fenced(patch, "diff", patchRoom))}`;
}

function callsOf({ calls }: Session, all: number, room: number): string | undefined {
  if (all === 0) return undefined;
  const failed = calls.filter(({ outcome }) => outcome.type !== "ok").length;
  const summary = `${plural(calls.length, "call")}${failed === 0 ? "" : `, ${failed} not ok`}${ofAll(calls.length, all, "calls")}`;
  return folded(summary, fitting(calls.map(callText), room, "calls"));
}

function callText({ tool, input, outcome, by, step }: ToolCall): string {
  const given = input === undefined ? "" : ` ${code(neutralJson(input), 300)}`;
  return `**${outcome.type}** ${code(tool, 60)}${given} (${code(by, 60)}, step ${step})\n\n${fenced(outcomeText(outcome), "text", 600)}`;
}

function conversationOf({ messages }: Session, room: number): string | undefined {
  if (messages.length === 0) return undefined;
  const parts = messages.map(({ role, by, text, parts: pieces }) => {
    const calls = pieces.flatMap((part) => (part.type === "call" ? [part.tool] : []));
    const said = text === "" && calls.length > 0 ? `calls ${calls.join(", ")}` : text;
    return folded(`${role} ${summaryCode(by, 60)}: ${summaryCode(said, 80)}`, fenced(said, "text", 2000));
  });
  return folded(plural(messages.length, "message"), fitting(parts, room, "messages"));
}

function replayOf(session: Session, workflow: string | undefined): string {
  const { id } = session;
  // A workflow that openrath({ workflows }) does not name is found only where one says in which file it is.
  const where = workflow !== undefined && Object.hasOwn(runtimeOf(session).workflows, workflow) ? "" : " --workflow FILE";
  const commands = [
    `openrath show ${id}`,
    `openrath log ${id} --graph`,
    `openrath verify ${id}`,
    ...(workflow === undefined ? [] : [`openrath replay ${id}${where}`]),
    `openrath export ${id}`,
  ];
  return fenced(commands.join("\n"), "sh");
}
