/** What agents did: calls of tools, models and checks, and who handed over to whom. */
import type { Event } from "../../session/event.ts";
import type { Acted } from "../../session/session.ts";
import { valueText } from "../../wire/event-line.ts";
import { count, money, plural, seconds } from "../../wire/format.ts";
import { neutralJson } from "../../wire/neutral.ts";
import { type Html, html } from "../html.ts";
import {
  block,
  brief,
  type Column,
  folded,
  foldedText,
  idForCommand,
  idOf,
  mark,
  none,
  outcomeMark,
  type Section,
  some,
  table,
} from "./blocks.ts";
import { actsOutside, dataOf, type Effect, exchangeOf, problemOf } from "./effects.ts";
import { type ModelSource, sourceOf, sourceWords } from "./model-source.ts";
import type { Dossier } from "./read.ts";

/** What an effect is on record to have done to files and where. */
export function actedIn({ result }: Effect): Acted | undefined {
  return (result?.data as { readonly acted?: Acted } | undefined)?.acted;
}

export function toolSection(dossier: Dossier): Section {
  const calls = dossier.effects.filter(actsOutside);
  const failed = calls.filter(({ outcome }) => outcome !== "ok").length;
  const body =
    calls.length === 0
      ? none("No tool was called, and no effect was done.")
      : html`<p class="note">${plural(calls.length, "call")} on all branches${failed === 0 ? ", all of them went well" : `, ${count(failed)} did not go well`}. Calls of branches that did not lead to the result are marked.</p>
${table(calls, toolColumns(dossier), "calls.jsonl", 120)}`;
  return { id: "tools", title: "Tools and effects", body };
}

function toolColumns(dossier: Dossier): readonly Column<Effect>[] {
  return [
    { name: "Step", kind: "narrow", cell: stepCell },
    {
      name: "Tool or effect",
      cell: (effect) =>
        html`<b>${brief(effect.name, 60)}</b><br><span class="quiet">${brief(effect.by, 80)}</span>${aside(dossier, effect)}`,
    },
    {
      name: "Outcome",
      cell: (effect) => html`${outcomeMark(effect.outcome)}${again(effect)}<br><span class="quiet">${where(effect)}</span>`,
    },
    { name: "Input and result", kind: "wide", cell: (effect) => detailOf(effect) },
  ];
}

/** Where it is on record. */
function stepCell({ step, call }: Effect): Html {
  return html`${step}<br>${idOf(call.id, 8)}`;
}

function again({ attempts, reused }: Effect): Html {
  return html`${attempts > 1 ? html` ${mark(`${attempts} attempts`, "warn")}` : ""}${reused === undefined ? "" : html` ${mark("reused", "quiet", `taken from event ${reused}`)}`}`;
}

/** On a branch that the result was not made of. */
function aside(dossier: Dossier, { call }: Effect): Html {
  return dossier.counts(call) ? html`` : html`<br><span class="quiet">on “${brief(dossier.nameOf(call.session), 40)}”</span>`;
}

function where(effect: Effect): string {
  const acted = actedIn(effect);
  return [
    ...(effect.ms === undefined ? [] : [seconds(effect.ms)]),
    ...(acted === undefined ? [] : [`${acted.sandbox} (${acted.isolation})`]),
  ].join(", ");
}

function detailOf(effect: Effect): Html {
  const { input, returned } = exchangeOf(effect);
  const acted = actedIn(effect);
  const asked = input === undefined ? "" : valueText(input);
  const result = effect.outcome === "ok" ? (returned?.value === undefined ? "" : valueText(returned.value)) : problemOf(effect);
  const changes = acted?.changes ?? [];
  return html`${asked === "" ? "" : html`<p class="said"><code>${brief(asked, 140)}</code></p>`}${
    changes.length === 0
      ? ""
      : html`<p class="said">${changes.slice(0, 4).map(({ kind, path }) => html`<span class="file ${kind}">${path}</span> `)}${changes.length > 4 ? `and ${count(changes.length - 4)} more` : ""}</p>`
  }${
    asked.length + result.length === 0
      ? ""
      : folded(
          html`<span class="${effect.outcome === "ok" ? "quiet" : "bad"}${/^[[{"]/.test(result) ? " json" : ""}">${brief(result, 90) || "input"}</span>`,
          html`${asked === "" ? "" : html`<p class="label">Input</p>${block(pretty(input), 3000)}`}${result === "" ? "" : html`<p class="label">Result</p>${block(result, 3000)}`}${commandsOf(acted)}`,
        )
  }`;
}

function pretty(value: unknown): string {
  return typeof value === "string" ? value : neutralJson(value, 2);
}

/** The commands an effect ran, with what they printed. */
function commandsOf(acted: Acted | undefined, open = false): Html {
  return html`${(acted?.commands ?? []).slice(0, 20).map(({ command, exitCode, ms, stdout, stderr, stopped }) => {
    const line = typeof command === "string" ? command : command.join(" ");
    const tone = exitCode === 0 ? "good" : "bad";
    return folded(
      html`<code>$ ${brief(line, 120)}</code> ${mark(`exit ${exitCode}`, tone)} <span class="quiet">${seconds(ms)}${stopped === undefined ? "" : `, stopped by ${stopped}`}</span>`,
      html`${stdout === "" ? none("Nothing was printed.") : block(stdout)}${stderr === "" ? "" : html`<p class="label">stderr</p>${block(stderr)}`}`,
      open,
    );
  })}`;
}

export function checkSection(dossier: Dossier): Section {
  const checks = dossier.effects.filter(({ op }) => op === "check");
  const newest = new Map(checks.map((check) => [`${check.name} ${dataOf(check.result, "check.returned")?.passed === true}`, check]));
  const most = 60;
  const shown =
    checks.length <= most ? checks : checks.filter((check, index) => index >= checks.length - most || [...newest.values()].includes(check));
  const body =
    checks.length === 0
      ? none("Nothing was judged: no check is on record.")
      : html`${shown.length === checks.length ? "" : html`<p class="note">The newest ${count(shown.length)} of ${plural(checks.length, "check")}.</p>`}${shown.map((check) => oneCheck(dossier, check, newest.get(keyOf(check)) === check))}`;
  return { id: "checks", title: "Checks and test output", body };
}

function keyOf(check: Effect): string {
  return `${check.name} ${dataOf(check.result, "check.returned")?.passed === true}`;
}

function oneCheck(dossier: Dossier, check: Effect, open: boolean): Html {
  const verdict = dataOf(check.result, "check.returned");
  const passed = check.outcome === "ok" && verdict?.passed === true;
  const word = check.outcome === "ok" ? (passed ? "passed" : "failed") : check.outcome;
  return html`<div class="check ${passed ? "good" : "bad"}">
<p><b>${check.name}</b> ${mark(word, passed ? "good" : "bad")} ${verdict?.score === undefined ? "" : html`<span class="quiet">score ${Number(verdict.score.toPrecision(3))}</span> `}<span class="quiet">step ${check.step} on “${brief(dossier.nameOf(check.session), 60)}”${dossier.counts(check.call) ? "" : ", not part of the result"}</span> ${idOf(check.call.id, 8)}</p>
${verdict?.reason === undefined && verdict?.message === undefined ? "" : html`<p class="said">${brief(verdict.reason ?? verdict.message ?? "", 600)}</p>`}
${commandsOf(actedIn(check), open)}</div>`;
}

export function modelSection(dossier: Dossier): Section {
  const calls = dossier.effects.filter(({ op }) => op === "model");
  if (calls.length === 0) return { id: "models", title: "Model calls", body: none("No model was asked.") };
  const counts = new Map<ModelSource, number>();
  for (const call of calls) counts.set(sourceOf(call), (counts.get(sourceOf(call)) ?? 0) + 1);
  const reused = calls.filter((call) => call.reused !== undefined).length;
  const body = html`<p class="note">${[...counts].map(([source, number]) => html`${sourceMark(source)} ${count(number)} &#160; `)}${reused === 0 ? "" : html`${mark("reused", "quiet")} ${count(reused)} taken from an earlier run`}</p>
<p class="note">A scripted or recorded reply comes again in every run. A live one came from a provider: the record proves what it said, and nobody can promise that it says so again.</p>
${table(
  calls,
  [
    { name: "Step", kind: "narrow", cell: stepCell },
    {
      name: "Agent and model",
      cell: (call) =>
        html`${brief(call.by, 80)}<br><span class="quiet">${brief(dataOf(call.result, "model.returned")?.model ?? call.name, 60)}</span>${aside(dossier, call)}`,
    },
    { name: "Source", cell: (call) => html`${sourceMark(sourceOf(call))}${again(call)}` },
    { name: "Read", kind: "figure", cell: ({ result }) => count(result?.facts.usage?.input ?? 0) },
    { name: "Wrote", kind: "figure", cell: ({ result }) => count(result?.facts.usage?.output ?? 0) },
    { name: "Cost", kind: "figure", cell: (call) => costOf(call) },
    { name: "Said", kind: "wide", cell: (call) => saidBy(call) },
  ],
  "session/session.jsonl",
  120,
)}
<p class="note">What exactly a model read at a step is rebuilt from the record and checked against its digest: <code>openrath show ${idForCommand(dossier.session.id)}@STEP --request</code>.</p>`;
  return { id: "models", title: "Model calls", body };
}

/** Where a reply came from, in a frame. */
export function sourceMark(source: ModelSource): Html {
  return mark(
    source === "none" ? "no reply" : source,
    source === "live" ? "warn" : source === "none" ? "bad" : "good",
    sourceWords[source],
  );
}

function costOf({ result, reused }: Effect): string {
  if (reused !== undefined) return "";
  return dataOf(result, "model.returned")?.unpriced === true ? "not known" : money(result?.facts.usage?.usd ?? 0);
}

function saidBy(call: Effect): Html {
  if (call.outcome !== "ok") return html`<span class="bad">${brief(`${call.outcome}: ${problemOf(call)}`, 200)}</span>`;
  const parts = dataOf(call.result, "model.returned")?.parts ?? [];
  const calls = parts.flatMap((part) => (part.type === "call" ? [part.tool] : []));
  const said = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  return html`${said === "" ? "" : foldedText(brief(said, 110), said)}${calls.length === 0 ? "" : html`<p class="said"><span class="quiet">calls</span> ${brief(calls.join(", "), 120)}</p>`}`;
}

export function roleSection(dossier: Dossier): Section {
  const routes = dossier.effects.filter(({ op }) => op === "route");
  const roles = rolesOf(dossier);
  const body = html`<p class="note">A session moves whole from one role to the next: besides what was said, its files, its memory, its checks, its placement and what waits go with it. This is what each added.</p>
${
  roles.length === 0
    ? none("No agent or workflow was entered.")
    : table(roles, [
        { name: "Role", kind: "wide", cell: ({ by }) => by },
        { name: "Entered at", kind: "figure", cell: ({ step }) => `step ${step}` },
        { name: "Models", kind: "figure", cell: ({ models }) => some(models) },
        { name: "Tools", kind: "figure", cell: ({ tools }) => some(tools) },
        { name: "Files", kind: "figure", cell: ({ files }) => some(files.size) },
        { name: "Recalled", kind: "figure", cell: ({ recalled }) => some(recalled) },
        { name: "Remembered", kind: "figure", cell: ({ remembered }) => some(remembered) },
        { name: "Checks", kind: "figure", cell: ({ checks }) => some(checks) },
        { name: "Stopped", cell: ({ stop }) => (stop === undefined ? "" : mark(stop, stop === "finished" ? "good" : "warn")) },
      ])
}
<h3>Choices</h3>
${
  routes.length === 0
    ? none("No Selector chose: the program itself says who comes next.")
    : table(routes, [
        { name: "Step", kind: "figure", cell: ({ step }) => step },
        {
          name: "By",
          cell: ({ by, call }) => html`${by}<br><span class="quiet">a ${dataOf(call, "route.called")?.by ?? "function"}</span>`,
        },
        { name: "Among", cell: ({ name }) => brief(name, 120) },
        { name: "Chose", cell: (route) => html`<b>${chosen(route).choice ?? route.outcome}</b>` },
        { name: "Why", kind: "wide", cell: (route) => brief(chosen(route).reason ?? "", 300) },
        { name: "With", cell: (route) => brief(withText(chosen(route)), 160) },
      ])
}`;
  return { id: "roles", title: "Roles and hand-overs", body };
}

interface Chosen {
  readonly choice?: string;
  readonly reason?: string;
  readonly context?: string;
  readonly memory?: string;
  readonly placement?: { readonly sandbox?: string };
  readonly check?: string;
}

function chosen({ result }: Effect): Chosen {
  return (dataOf(result, "route.returned")?.value ?? {}) as Chosen;
}

function withText({ context, memory, placement, check }: Chosen): string {
  const words = [
    context && `context: ${context}`,
    memory && `memory of ${memory}`,
    placement?.sandbox && `placed in ${placement.sandbox}`,
    check && `must pass ${check}`,
  ];
  return words.filter((word) => word !== undefined && word !== "").join("; ");
}

interface Role {
  readonly by: string;
  readonly step: number;
  models: number;
  tools: number;
  readonly files: Set<string>;
  recalled: number;
  remembered: number;
  checks: number;
  stop: string | undefined;
}

function rolesOf({ events, effects }: Dossier): readonly Role[] {
  const roles = new Map<string, Role>();
  const role = (event: Pick<Event, "by" | "step">): Role => {
    const known = roles.get(event.by);
    if (known !== undefined) return known;
    const made: Role = {
      by: event.by,
      step: event.step,
      models: 0,
      tools: 0,
      files: new Set(),
      recalled: 0,
      remembered: 0,
      checks: 0,
      stop: undefined,
    };
    roles.set(event.by, made);
    return made;
  };
  for (const event of events) if (event.kind === "workflow.entered") role(event);
  for (const effect of effects) {
    const one = roles.get(effect.by);
    if (one === undefined) continue;
    if (effect.op === "model") one.models++;
    if (effect.op === "tool") one.tools++;
    if (effect.op === "check") one.checks++;
    if (effect.op === "recall") one.recalled += (dataOf(effect.result, "recall.returned")?.value ?? []).length;
    if (effect.op === "remember") one.remembered++;
    for (const { path } of actedIn(effect)?.changes ?? []) one.files.add(path);
  }
  for (const event of events)
    if (event.kind === "agent.stopped" && event.data !== undefined && roles.has(event.by)) role(event).stop = event.data.stop;
  return [...roles.values()];
}
