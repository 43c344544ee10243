/** What the session left behind and what it knew: files and where they were changed, memory with its evidence, and what models no longer read. */
import type { DataOf, Event } from "../../session/event.ts";
import type { Change } from "../../session/session.ts";
import { eventLine } from "../../wire/event-line.ts";
import { count, plural, size } from "../../wire/format.ts";
import { type Html, html } from "../html.ts";
import { type Fate, memoryFates } from "../memory-fates.ts";
import {
  brief,
  clipped,
  facts,
  folded,
  foldedText,
  idForCommand,
  idOf,
  mark,
  none,
  outcomeMark,
  type Section,
  type Tone,
  table,
} from "./blocks.ts";
import { dataOf, type Effect, problemOf } from "./effects.ts";
import type { Dossier } from "./read.ts";
import { when } from "./story.ts";
import { actedIn } from "./work.ts";

/** More of a patch is not shown on the page; patch.diff has it. */
const longestPatch = 400_000;
const longestFile = 40_000;

export function patchSection(dossier: Dossier): Section {
  const { changes, patch, session } = dossier;
  const touched = touches(dossier);
  const body = html`${
    changes.length === 0
      ? none("The result changed no file.")
      : html`<p class="note">${plural(changes.length, "file")} ${changes.length === 1 ? "differs" : "differ"} from what the session took from its directory. <code>git apply patch.diff</code> takes it, and so does <code>openrath apply ${idForCommand(session.id)}</code>.</p>
${patchBlocks(patch)}`
  }
<h3>Which call changed which file</h3>
${
  touched.length === 0
    ? none("No effect changed a file.")
    : table(
        touched,
        [
          { name: "File", kind: "wide", cell: ({ change }) => html`<span class="file ${change.kind}">${change.path}</span>` },
          { name: "Change", cell: ({ change }) => change.of ?? change.kind },
          {
            name: "Call",
            cell: ({ effect }) => html`${effect.name} <span class="quiet">step ${effect.step}</span> ${idOf(effect.call.id, 8)}`,
          },
          { name: "By", cell: ({ effect }) => brief(effect.by, 80) },
          { name: "Sandbox", cell: ({ effect }) => sandboxOf(effect) },
          { name: "Branch", cell: ({ effect }) => brief(dossier.nameOf(effect.session), 60) },
          { name: "In the result", cell: ({ effect }) => (dossier.counts(effect.call) ? mark("yes", "good") : mark("no", "quiet")) },
        ],
        "calls.jsonl",
        100,
      )
}
<p class="note">The event that wrote a line of a file: <code>openrath blame ${idForCommand(session.id)} PATH</code>; what led to it: <code>openrath why ${idForCommand(session.id)} PATH:LINE</code>.</p>`;
  return { id: "files", title: "Accepted patch", body };
}

interface Touch {
  readonly effect: Effect;
  readonly change: Change;
}

function touches({ effects }: Dossier): readonly Touch[] {
  return effects.flatMap((effect) => {
    const acted = actedIn(effect);
    return acted === undefined || acted.discarded === true ? [] : acted.changes.map((change) => ({ effect, change }));
  });
}

function sandboxOf(effect: Effect): Html {
  const { sandbox = "", id } = actedIn(effect) ?? {};
  return html`${sandbox}${id === undefined ? "" : html` <span class="quiet" title="${id}">${id.slice(0, 14)}</span>`}`;
}

/** One block for each file, coloured by line. */
function patchBlocks(patch: string): Html {
  // Lines of a patch end with a line feed alone: other breaks are content of files.
  const files = patch
    .split(/(?<=^|\n)(?=diff --git |# )/)
    .filter((part) => part.trim() !== "")
    .map((part) => part.replace(/(?<=\n)GIT binary patch\n.*$/s, "A binary file: patch.diff has it.\n"));
  let room = longestPatch;
  const shown: Html[] = [];
  for (const part of files) {
    if (room <= 0) break;
    room -= part.length;
    const cut = clipped(part, Math.min(longestFile, Math.max(2000, room + part.length)));
    const left = part.length - cut.length;
    shown.push(
      folded(
        html`<code>${titleOf(part)}</code> ${linesOf(part)}`,
        html`<pre class="patch">${patchLines(cut)}</pre>${left === 0 ? "" : html`<p class="left">${size(left)} left out here; all of it is in patch.diff</p>`}`,
        files.length <= 12,
      ),
    );
  }
  const left = files.length - shown.length;
  return html`${shown}${left === 0 ? "" : html`<p class="left">${plural(left, "more file")} in patch.diff</p>`}`;
}

function titleOf(part: string): string {
  const [line = ""] = part.split("\n", 1);
  const found = /^diff --git "?a\/(.*?)"? "?b\//.exec(line);
  return brief(found?.[1] ?? line.replace(/^# /, ""), 160);
}

function linesOf(part: string): Html {
  const lines = part.split("\n");
  const added = lines.filter((line) => /^\+(?!\+\+ )/.test(line)).length;
  const removed = lines.filter((line) => /^-(?!-- )/.test(line)).length;
  return html`<span class="added">+${added}</span> <span class="removed">−${removed}</span>`;
}

function patchLines(text: string): readonly Html[] {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      const kind = /^(?:\+\+\+|---|diff |new file|deleted file|old mode|new mode|#)/.test(line)
        ? "head"
        : line.startsWith("@@")
          ? "hunk"
          : line.startsWith("+")
            ? "plus"
            : line.startsWith("-")
              ? "minus"
              : "same";
      return html`<span class="${kind}">${line === "" ? " " : clipped(line, 2000)}${line.length > 2000 ? ` … ${plural(line.length - 2000, "more character")}` : ""}\n</span>`;
    });
}

const states: Readonly<Record<string, Tone>> = { closed: "good", open: "warn", lost: "bad", unknown: "warn" };

export function placementSection(dossier: Dossier): Section {
  const { sandboxes, session, events } = dossier;
  const placed = events.filter(
    (event): event is Event<"placement.changed"> => event.kind === "placement.changed" && event.data !== undefined,
  );
  const backends = new Map<string, number>();
  for (const effect of dossier.effects) {
    const acted = actedIn(effect);
    if (acted !== undefined)
      backends.set(
        `${acted.sandbox}, isolation ${acted.isolation}`,
        (backends.get(`${acted.sandbox}, isolation ${acted.isolation}`) ?? 0) + 1,
      );
  }
  const left = sandboxes.filter(({ status }) => status !== "closed").length;
  const body = html`${facts([
    [
      "Placed in",
      placed.length === 0
        ? "nowhere: tools could touch no files"
        : html`${placed.slice(0, 8).map(({ data, step }) => html`${data.sandbox}, network ${networkOf(data.spec["network"])} <span class="quiet">from step ${step}</span><br>`)}`,
    ],
    ["Backends that acted", [...backends].map(([name, number]) => `${name}: ${plural(number, "effect")}`).join("; ") || "none"],
    [
      "Held now",
      left === 0
        ? "nothing: every sandbox that was opened is on record as closed"
        : html`${mark(`${left} not closed`, "warn")} see below, and <code>openrath sandbox ls</code>`,
    ],
  ])}
${
  sandboxes.length === 0
    ? none("No sandbox had to be opened.")
    : table(sandboxes, [
        { name: "Sandbox", cell: ({ id }) => html`<code class="id" title="${id}">${brief(id, 24)}</code>` },
        {
          name: "Backend",
          cell: (one) =>
            html`${one.sandbox}<br><span class="quiet">${one.isolation}${one.workspace === undefined ? "" : `, ${one.workspace}`}</span>`,
        },
        { name: "Owned by", cell: ({ session: owner }) => brief(dossier.nameOf(owner), 60) },
        { name: "Opened", cell: ({ opened }) => when(opened) },
        { name: "Now", cell: ({ status }) => mark(status, states[status] ?? "plain") },
        {
          name: "Clean-up",
          kind: "wide",
          cell: ({ closed }) =>
            closed === undefined
              ? "no closing is on record"
              : html`${brief(closed.reason, 160)} ${when(closed.at)}${closed.problem === undefined ? "" : html`<br><span class="bad">${brief(closed.problem, 300)}</span>`}`,
        },
      ])
}
<p class="note">Files of the host are read when a placement is first used and written only by <code>openrath apply ${idForCommand(session.id)}</code>.</p>`;
  return { id: "placement", title: "Placement and clean-up", body };
}

function networkOf(network: unknown): string {
  if (typeof network === "string") return network;
  const { allow } = (network ?? {}) as { readonly allow?: readonly string[] };
  return allow === undefined ? "none" : allow.join(", ");
}

export function memorySection(dossier: Dossier): Section {
  const recalls = dossier.effects.filter(({ op }) => op === "recall");
  const writes = dossier.effects.filter(({ op }) => op === "remember" || op === "forget");
  const fates = fatesOf(dossier);
  const body = html`<h3>Recalled</h3>
${
  recalls.length === 0
    ? none("Nothing was recalled.")
    : table(
        recalls.flatMap((recall) => readsOf(recall)),
        readColumns(),
        "session/session.jsonl",
        100,
      )
}
<h3>Remembered</h3>
${
  writes.length === 0
    ? none("Nothing was remembered.")
    : table(
        writes,
        [
          { name: "Step", kind: "figure", cell: ({ step }) => step },
          { name: "Memory", kind: "wide", cell: (write) => writeText(write) },
          { name: "From", cell: (write) => sourceText(write) },
          { name: "Evidence", kind: "wide", cell: (write) => evidenceOf(dossier, write) },
          {
            name: "Became",
            cell: (write) => {
              const fate = fates.get(write.call.id);
              return fate === undefined ? fateOf(dossier, write) : fateText(fate);
            },
          },
          { name: "By", cell: ({ by }) => brief(by, 80) },
        ],
        "session/session.jsonl",
        100,
      )
}
<p class="note">That a memory was given to a model says that it was in context, not that it was the cause. Why one is there: <code>openrath memory why KEY</code>; to take one back with all that was made of it: <code>openrath memory retract KEY --reason TEXT</code>. States are those on record when the run returned.</p>`;
  return { id: "memory", title: "Memory", body };
}

type Hit = NonNullable<DataOf<"recall.returned">["value"]>[number];
interface Read {
  readonly recall: Effect;
  readonly hit: Hit | undefined;
}

function readsOf(recall: Effect): readonly Read[] {
  const hits = dataOf(recall.result, "recall.returned")?.value ?? [];
  return hits.length === 0 ? [{ recall, hit: undefined }] : hits.map((hit) => ({ recall, hit }));
}

function readColumns(): Parameters<typeof table<Read>>[1] {
  return [
    { name: "Step", kind: "figure", cell: ({ recall }) => recall.step },
    { name: "Asked for", kind: "wide", cell: ({ recall }) => html`${brief(recall.name, 90)}<br><span class="quiet">${recall.by}</span>` },
    {
      name: "Found",
      kind: "wide",
      cell: ({ recall, hit }) =>
        hit === undefined
          ? recall.outcome === "ok"
            ? "nothing"
            : outcomeMark(recall.outcome)
          : html`<b>${brief(hit.key, 80)}</b> <span class="quiet">version ${hit.version}</span>${foldedText(brief(hit.content, 100), hit.content)}`,
    },
    { name: "Score", kind: "figure", cell: ({ hit }) => (hit === undefined ? "" : String(Number(hit.score.toPrecision(3)))) },
    { name: "Trust", cell: ({ hit }) => (hit === undefined ? "" : mark(hit.trust, hit.trust === "trusted" ? "good" : "warn")) },
    {
      name: "Written because of",
      cell: ({ hit }) =>
        hit === undefined
          ? ""
          : html`${hit.because.slice(0, 3).map((id) => html`${idOf(id, 8)} `)}<span class="quiet">${hit.origin}</span>`,
    },
    {
      name: "A model read it",
      cell: ({ recall, hit }) => (hit === undefined ? "" : injectedIn(recall, hit) ? "yes, as data" : "not by itself"),
    },
  ];
}

function injectedIn({ result }: Effect, { uri, version }: Hit): boolean {
  return dataOf(result, "recall.returned")?.injected?.includes(`${uri}@${version}`) === true;
}

function writeText(write: Effect): Html {
  const asked = dataOf(write.call, "remember.called");
  const forgot = dataOf(write.call, "forget.called");
  const content =
    asked === undefined
      ? `forgotten: ${forgot?.reason ?? ""}`
      : typeof asked.content === "string"
        ? asked.content
        : JSON.stringify(asked.content);
  return html`<b>${brief(write.name, 80)}</b> <span class="quiet">${asked?.scope ?? forgot?.scope ?? ""}</span>${foldedText(brief(content, 100), content)}`;
}

function stagedIn({ result }: Effect): DataOf<"remember.returned">["item"] {
  return (dataOf(result, "remember.returned") ?? dataOf(result, "forget.returned"))?.item;
}

function sourceText(write: Effect): Html {
  const item = stagedIn(write);
  return item === undefined ? html`` : html`${item.origin} ${mark(item.trust, item.trust === "trusted" ? "good" : "warn")}`;
}

function evidenceOf(dossier: Dossier, write: Effect): Html {
  const because = stagedIn(write)?.because ?? [];
  const lines = because.slice(0, 4).map((id) => {
    const event = dossier.find(id);
    return html`<p class="said">${idOf(id, 8)} ${event === undefined ? html`<span class="quiet">of another session</span>` : brief(eventLine(event, dossier.find), 120)}</p>`;
  });
  return html`${lines}${because.length > 4 ? html`<p class="said quiet">and ${because.length - 4} more</p>` : ""}`;
}

/** What became of writes when their runs returned. */
function fatesOf({ runs }: Dossier): ReadonlyMap<string, Fate> {
  return memoryFates(runs.flatMap(({ journal }) => journal.flatMap((event) => dataOf(event, "memory.published") ?? [])));
}

function fateText(fate: Fate): Html {
  switch (fate.state) {
    case "published":
      return html`${mark("published", "good")} <span class="quiet">revision ${fate.revision}</span>`;
    case "held":
      return html`${mark("held", "warn")} <span class="quiet">${brief(fate.reason, 120)}</span>`;
    case "refused":
      return html`${mark("refused", "bad")} <span class="quiet">others wrote version ${fate.current} meanwhile</span>`;
    default:
      return fate satisfies never;
  }
}

function fateOf(dossier: Dossier, write: Effect): Html {
  if (write.outcome !== "ok") return html`${outcomeMark(write.outcome)} <span class="quiet">${brief(problemOf(write), 120)}</span>`;
  if (dataOf(write.result, "remember.returned")?.published !== undefined) return mark("published at once", "good");
  if (!dossier.counts(write.call)) return html`${mark("left behind", "quiet")} <span class="quiet">its branch was not kept</span>`;
  return stagedIn(write)?.publish === "never"
    ? html`${mark("staged", "quiet")} <span class="quiet">never to be published</span>`
    : mark("staged", "plain");
}

export function contextSection(dossier: Dossier): Section {
  const compressed = dossier.events.filter(
    (event): event is Event<"context.compressed"> => event.kind === "context.compressed" && event.data !== undefined,
  );
  const id = idForCommand(dossier.session.id);
  const body =
    compressed.length === 0
      ? none("Models read everything that was said to them: nothing was compressed.")
      : html`<p class="note">A compression changes what models read from then on. Nothing is removed: every event below is in the record, and <code>openrath show ${id}@STEP</code> shows the session before it.</p>
${compressed.slice(0, 40).map((event) => oneCompression(dossier, event))}${compressed.length > 40 ? html`<p class="left">${plural(compressed.length - 40, "more compression")} left out here</p>` : ""}`;
  return { id: "context", title: "What models no longer read", body };
}

function oneCompression(dossier: Dossier, event: Event<"context.compressed">): Html {
  const { policy, dropped, shortened = [], replacement, tokens } = event.data;
  const events = dropped.reduce((sum, range) => sum + range.events, 0);
  const inner = dossier.ways.some(({ id, part }) => id === event.session && part === "inner");
  const stands = replacement === undefined ? undefined : "text" in replacement ? replacement.text : summaryOf(dossier, replacement.event);
  return html`<div class="check"><p><b>${policy}</b> <span class="quiet">step ${event.step} by ${event.by}${inner ? ", for its own reading alone" : ""}</span> ${idOf(event.id, 8)}</p>
<p class="said">${plural(events, "event")} no longer read${shortened.length === 0 ? "" : `, ${plural(shortened.length, "result")} shortened`}; about ${count(tokens.before)} tokens became ${count(tokens.after)}.</p>
${dropped.slice(0, 6).map(({ from, to, events: number }) => html`<p class="said">from ${idOf(from, 8)} to ${idOf(to, 8)}: ${plural(number, "event")} ${rangeText(dossier, from, to)}</p>`)}
${stands === undefined ? "" : html`<p class="label">Read in its place</p>${foldedText(brief(stands, 120), stands)}`}</div>`;
}

function summaryOf({ find }: Dossier, id: string): string {
  const { value } = (find(id)?.data ?? {}) as { readonly value?: unknown };
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

function rangeText(dossier: Dossier, from: string, to: string): Html {
  const [first, last] = [dossier.find(from), dossier.find(to)];
  if (first === undefined || last === undefined) return html``;
  return html`<span class="quiet">(${brief(eventLine(first, dossier.find), 60)} … ${brief(eventLine(last, dossier.find), 60)})</span>`;
}
