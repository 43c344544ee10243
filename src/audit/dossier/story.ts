/** The first part of the page: what was asked, what came out, and the two pictures of how. */
import { count, money, plural, seconds } from "../../wire/format.ts";
import { toSvg } from "../graph-svg.ts";
import { type Html, html } from "../html.ts";
import { block, brief, drawing, facts, folded, idForCommand, idOf, mark, none, type Section, type Tone, table } from "./blocks.ts";
import { dataOf } from "./effects.ts";
import { sourceOf } from "./model-source.ts";
import { type Proof, recordWord } from "./proof.ts";
import type { Dossier, Part, Way } from "./read.ts";
import { timelineOf } from "./timeline.ts";
import { timelineSvg } from "./timeline-svg.ts";

/** The head of the page: its name, how it ended, and the figures one asks for first. */
export function headOf(dossier: Dossier, proof: Proof): Html {
  const { session, title, effects, ways, changes, events } = dossier;
  const [word, tone] = endOf(dossier);
  const { usage: spent, unpriced } = dossier.spent.total;
  const { from, to, busyMs } = timelineOf(dossier);
  const checks = effects.filter(({ op, call }) => op === "check" && dossier.counts(call));
  const newest = new Map(checks.map((check) => [check.name, dataOf(check.result, "check.returned")?.passed === true]));
  const passed = [...newest.values()].filter(Boolean).length;
  const models = effects.filter(({ op }) => op === "model");
  const live = models.filter((effect) => sourceOf(effect) === "live").length;
  const shown = ways.filter(({ part }) => part !== "inner");
  const rejected = ways.filter(({ part }) => part === "rejected").length;
  const tile = (name: string, value: string, note: string): Html =>
    html`<div class="tile"><b>${value}</b><span>${name}</span><small>${note}</small></div>`;
  return html`<header>
<p class="over">Dossier of a session</p>
<h1>${title}</h1>
<p class="under">${mark(word, tone)} ${idOf(session.id, 18)} at step ${session.step} <span class="quiet">· read on ${when(dossier.at)}</span></p>
<div class="tiles">
${tile("Checks", newest.size === 0 ? "none" : `${passed} of ${newest.size}`, newest.size > 0 ? "passed when last judged" : effects.some(({ op }) => op === "check") ? "judged other branches alone" : "nothing was judged")}
${tile("Files", count(changes.length), "changed by the result")}
${tile("Branches", count(shown.length), rejected === 0 ? "none rejected" : `${count(rejected)} rejected`)}
${tile("Model calls", count(models.length), live === 0 ? "none depends on a provider" : `${count(live)} depend on a provider`)}
${tile("Cost", money(spent.usd), `${plural(spent.input + spent.output, "token")}${unpriced > 0 ? ", some without a price" : ""}`)}
${tile("Time", seconds(busyMs), busyMs > (to - from) * 0.9 ? "of work" : `of work in ${seconds(to - from)}`)}
${tile("Record", recordWord(proof.verification.ok, proof.verification.problems.length)[0], `${plural(events.length, "event")} on its branches`)}
</div>
</header>`;
}

function endOf({ session, run }: Dossier): readonly [string, Tone] {
  if (session.status !== "idle") return [session.status, session.status === "waiting" ? "warn" : "bad"];
  if (run !== undefined && run.status !== "done")
    return [`run ${run.status}`, run.status === "failed" || run.status === "cancelled" ? "bad" : "warn"];
  if (session.stop !== undefined && session.stop !== "finished") return [`stopped: ${session.stop}`, "warn"];
  return ["finished", "good"];
}

export function taskSection(dossier: Dossier): Section {
  const { session, tags, principal, events, runs } = dossier;
  const [first] = events;
  const placed = events.find((event) => event.kind === "placement.changed");
  const captured = runs.flatMap(({ journal }) => journal).find((event) => event.kind === "workspace.captured");
  const started = dossier.run?.started;
  const input = started === undefined ? undefined : dataOf(started, "run.started");
  const directory = captured?.kind === "workspace.captured" ? captured.data : undefined;
  const body = html`<blockquote>${dossier.task === "" ? "Nothing was said." : html`${block(dossier.task)}`}</blockquote>
${facts([
  ["Asked by", principal ?? first?.by],
  ["Begun", first === undefined ? "" : when(first.at)],
  ["Tags", tags.join(", ")],
  [
    "Workflow",
    input === undefined
      ? "none: effects outside any workflow"
      : html`${input.workflow}${input.revision === undefined ? "" : html` <span class="quiet">revision ${idOf(input.revision)}</span>`}`,
  ],
  [
    "Input state",
    input === undefined
      ? html`the session at ${idOf(session.head)}`
      : html`event ${idOf(input.input.head)} of session ${idOf(input.input.session, 8)}`,
  ],
  [
    "Files it began with",
    directory === undefined
      ? placed === undefined
        ? "none: it was not placed anywhere"
        : "none: it began without a directory"
      : html`${directory.directory}, tree ${idOf(directory.tree)}${directory.withheld === undefined ? "" : html`, ${plural(directory.withheld.length, "file")} withheld`}`,
  ],
  [
    "Limits",
    input?.limits === undefined
      ? ""
      : Object.entries(input.limits)
          .map(([name, most]) => `${name} ${String(most)}`)
          .join(", "),
  ],
])}`;
  return { id: "task", title: "Task", body };
}

export function outcomeSection(dossier: Dossier): Section {
  const { session, output, ways, effects, counts } = dossier;
  const [word, tone] = endOf(dossier);
  const winner = ways.findLast(({ won }) => won) ?? ways.find(({ current }) => current);
  const said = effects.findLast(({ op, call, outcome }) => op === "model" && outcome === "ok" && counts(call));
  const check = effects.findLast(({ op, call }) => op === "check" && counts(call));
  const verdict = dataOf(check?.result, "check.returned");
  const body = html`${output === "" ? none("Nothing came out of it.") : html`<blockquote class="answer">${block(output)}</blockquote>`}
${facts([
  ["Status", html`${mark(word, tone)}`],
  [
    "Made on",
    winner === undefined
      ? ""
      : winner.current
        ? "the session's own branch"
        : html`the branch “${brief(winner.label, 80)}”, ${idOf(winner.id, 8)}, whose head the session adopted`,
  ],
  ["Last said by", said === undefined ? "no model" : html`${said.by} with ${dataOf(said.result, "model.returned")?.model ?? said.name}`],
  [
    "Last judged",
    check === undefined
      ? "nothing judged it"
      : html`${check.name} ${mark(verdict?.passed === true ? "passed" : "failed", verdict?.passed === true ? "good" : "bad")}${verdict?.reason === undefined ? "" : ` ${brief(verdict.reason, 160)}`}`,
  ],
  ["Head", html`${idOf(session.head)} at step ${session.step}`],
  ["Still waits for", session.pending.length === 0 ? "nothing" : plural(session.pending.length, "answer")],
])}`;
  return { id: "outcome", title: "Outcome", body };
}

export function graphSection({ ways, edges }: Dossier): Section {
  const svg = toSvg(ways, edges, false);
  const inner = ways.filter(({ part }) => part === "inner").length;
  const words = `Each lane is a branch, time goes to the right. ${inner === 0 ? "" : `${plural(inner, "branch")} of inner work ${inner === 1 ? "is" : "are"} counted on the lane they belong to. `}Point at a lane for its whole id.`;
  return { id: "graph", title: "Session graph", body: drawing(svg, words) };
}

export function timelineSection(dossier: Dossier): Section {
  const timeline = timelineOf(dossier);
  if (timeline.rows.length === 0) return { id: "timeline", title: "Timeline", body: none("Nothing was done.") };
  const quiet = timeline.stretches.filter(({ busy }) => !busy).length;
  const words = `One row an agent, one bar an effect. ${quiet === 0 ? "" : `Grey stretches are ${quiet === 1 ? "a time" : "times"} in which nobody worked, drawn short. `}${timeline.others === 0 ? "" : `${count(timeline.others)} agents with fewer effects share the last row. `}Point at a bar for what it was.`;
  return { id: "timeline", title: "Timeline", body: drawing(timelineSvg(timeline), words) };
}

const parts: Readonly<Record<Part, readonly [string, Tone]>> = {
  result: ["result", "good"],
  merged: ["took part", "plain"],
  rejected: ["rejected", "bad"],
  inner: ["inner work", "quiet"],
  unused: ["left", "quiet"],
};

export function branchSection(dossier: Dossier): Section {
  const { ways, session } = dossier;
  const rejected = ways.filter(({ part }) => part === "rejected");
  const others = ways.filter(({ part }) => part !== "inner");
  const body = html`<h3>Rejected, and why</h3>
${
  rejected.length === 0
    ? none("No branch was rejected.")
    : table(
        rejected,
        [
          { name: "Branch", cell: (way) => html`<b>${brief(way.label, 120)}</b><br>${idOf(way.id, 8)}` },
          { name: "Why", kind: "wide", cell: ({ reason }) => reason ?? "no reason was given" },
          { name: "Events", kind: "figure", cell: ({ events }) => count(events) },
          { name: "Cost", kind: "figure", cell: ({ usd }) => money(usd) },
        ],
        "lineage.jsonl",
      )
}
<h3>All branches</h3>
${table(
  others,
  [
    { name: "Branch", kind: "wide", cell: (way) => html`<b>${brief(way.label, 120)}</b>` },
    { name: "Id", cell: ({ id }) => idOf(id, 8) },
    { name: "Became", cell: ({ part }) => mark(...parts[part]) },
    { name: "Begun by", cell: ({ by }) => brief(by, 80) },
    { name: "Steps", kind: "figure", cell: (way) => `${way.first}–${way.step}` },
    { name: "Events", kind: "figure", cell: ({ events }) => count(events) },
    { name: "Cost", kind: "figure", cell: ({ usd }) => money(usd) },
  ],
  "lineage.jsonl",
)}
<p class="note">${others.length < 2 ? "" : html`Two branches are compared with <code>openrath diff ${twoOf(others, session.id).join(" ")}</code>. `}${ways.length === others.length ? "" : `${plural(ways.length - others.length, "more branch")} ${ways.length - others.length === 1 ? "holds" : "hold"} inner work of effects and ${ways.length - others.length === 1 ? "is" : "are"} listed in lineage.jsonl.`}</p>`;
  return { id: "branches", title: "Branches", body };
}

/** Two worth comparing: what was kept and what was not. */
function twoOf(ways: readonly Way[], id: string): readonly string[] {
  const kept = ways.findLast(({ won }) => won) ?? ways.find(({ current }) => current);
  const lost = ways.find(({ part }) => part === "rejected") ?? ways.find((way) => way !== kept);
  return [kept?.id ?? id, lost?.id ?? id].map(idForCommand);
}

/** What was said, folded: the record has it all. */
export function saidSection({ session, clean }: Dossier): Section {
  const { messages } = session;
  const most = 80;
  const shown = messages.length <= most ? messages : [...messages.slice(0, most / 2), ...messages.slice(-most / 2)];
  const rows = shown.map(({ role, by, text, event }) => ({ role, by, event, text: clean.text(text) }));
  const left = messages.length - shown.length;
  const body =
    messages.length === 0
      ? none("Nothing was said.")
      : html`<p class="note">${plural(messages.length, "message")} stand in the conversation of the result.${left === 0 ? "" : ` The ${count(left)} in the middle are left out here.`}</p>
<div class="talk">${rows.map(({ role, by, text, event }) =>
          text.length <= 280
            ? html`<div class="${role}"><p class="who">${role} <span class="quiet">${by}</span> ${idOf(event, 8)}</p><p class="said">${text === "" ? "(calls tools)" : text}</p></div>`
            : html`<div class="${role}"><p class="who">${role} <span class="quiet">${by}</span> ${idOf(event, 8)}</p>${folded(brief(text, 200), block(text, 4000))}</div>`,
        )}</div>`;
  return { id: "said", title: "Conversation", body };
}

/** A time as people read it. */
export function when(at: string): Html {
  return html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>`;
}
