/** Who said yes, what it cost, and what went wrong on the way. */
import type { Given } from "../../runtime/services.ts";
import { valueText } from "../../wire/event-line.ts";
import { count, money, plural, seconds } from "../../wire/format.ts";
import type { CostRow } from "../cost.ts";
import { type Html, html } from "../html.ts";
import { brief, type Column, drawing, idOf, mark, none, outcomeMark, type Section, some, table } from "./blocks.ts";
import { dataOf, type Effect, neededApproval } from "./effects.ts";
import { crossedText, type Failure, failuresOf } from "./failures.ts";
import type { Dossier } from "./read.ts";
import { spentSvg } from "./spending.ts";
import { when } from "./story.ts";

export function approvalSection(dossier: Dossier): Section {
  const { effects, decisions } = dossier;
  const asked = effects.filter(
    (effect) => effect.op === "ask" || dataOf(effect.call, "tool.called")?.approval !== undefined || decisions.has(effect.call.id),
  );
  const body =
    asked.length === 0
      ? none("Nobody was asked: no question, no approval.")
      : table(
          asked,
          [
            { name: "Step", kind: "figure", cell: ({ step }) => step },
            { name: "Asked", kind: "wide", cell: (effect) => questionOf(effect, decisions.get(effect.call.id)) },
            { name: "Answer", cell: (effect) => answerOf(dossier, effect) },
            { name: "By", cell: ({ call }) => brief(decisions.get(call.id)?.by ?? "nobody yet", 80) },
            { name: "When", cell: ({ call }) => whenOf(decisions.get(call.id)?.at) },
            { name: "Because", kind: "wide", cell: ({ call }) => brief(decisions.get(call.id)?.data?.reason ?? "", 300) },
            { name: "Then", cell: ({ outcome }) => outcomeMark(outcome) },
          ],
          "calls.jsonl",
        );
  return { id: "approvals", title: "Approvals and answers", body };
}

function whenOf(at: string | undefined): Html {
  return at === undefined ? html`` : when(at);
}

function questionOf(effect: Effect, decision: Given | undefined): Html {
  const data = dataOf(effect.call, "tool.called");
  if (data === undefined) return html`${brief(effect.name, 300)}<br><span class="quiet">asked by ${effect.by}</span>`;
  const rule = { tool: "the tool demands it", agent: "the agent demands it", policy: "a policy demands it" }[data.approval ?? "tool"];
  return html`May <b>${data.name}</b> run? <code>${brief(valueText(data.input ?? {}), 160)}</code><br><span class="quiet">asked by ${effect.by}: ${neededApproval(effect, decision) ? rule : "its outcome was unknown"}</span>`;
}

function answerOf({ decisions }: Dossier, { call }: Effect): Html {
  const said = decisions.get(call.id)?.data;
  if (said === undefined) return mark("waits", "warn");
  if (said.expired === true) return mark("expired", "bad");
  if (said.approve !== undefined)
    return html`${mark(said.approve ? "yes" : "no", said.approve ? "good" : "bad")}${said.input === undefined ? "" : html` with <code>${brief(valueText(said.input), 120)}</code>`}`;
  return html`${brief(valueText(said.answer ?? said.outcome ?? ""), 200)}`;
}

export function costSection(dossier: Dossier): Section {
  const { effects, session, runs } = dossier;
  const { agents, models, total } = dossier.spent;
  const { usage: all, unpriced } = total;
  const tables = [...new Set(effects.flatMap(({ result }) => dataOf(result, "model.returned")?.price?.table ?? []))];
  const { crossed } = failuresOf(dossier);
  const limits = runs.flatMap(({ started }) => dataOf(started, "run.started")?.limits ?? []);
  const body = html`<p class="note">All branches together: ${money(all.usd)}, ${plural(all.input, "token")} read (${count(all.cached)} of them from a cache) and ${count(all.output)} written. ${all.usd - session.usage.usd > 1e-9 ? `${money(session.usage.usd)} of it is in the past of the result; the rest was spent on branches that were not kept.` : ""}${unpriced === 0 ? "" : html` ${mark(`${plural(unpriced, "call")} without a price`, "warn")} counted as 0.`}${tables.length === 0 ? "" : ` Prices are those on record with each reply, from ${tables.map((one) => (one === "own" ? "the project's own table" : `the table of ${one}`)).join(" and ")}.`}</p>
${all.input + all.output === 0 ? none("No tokens were spent.") : html`${drawing(spentSvg(agents, "Tokens by agent"), "Tokens by agent")}${drawing(spentSvg(models, "Tokens by model"), "Tokens by model")}`}
<h3>By agent</h3>${table(agents, spentColumns("Agent"), "the record", 60)}
<h3>By model</h3>${models.length === 0 ? none("No model was asked.") : table(models, spentColumns("Model"), "the record", 60)}
<h3>Budgets</h3>
${limits.length === 0 ? none("The runs had no limit of their own; agents may have had.") : html`<p>${limits.flatMap((limit) => Object.entries(limit).map(([name, most]) => mark(`${name} ${String(most)}`)))}</p>`}
${crossed.length === 0 ? none("No limit was reached.") : html`<ul>${crossed.slice(0, 50).map((event) => html`<li>${mark("crossed", "warn")} ${crossedText(event)} <span class="quiet">${when(event.at)}</span></li>`)}</ul>`}`;
  return { id: "cost", title: "Usage and cost", body };
}

function spentColumns(name: string): readonly Column<CostRow>[] {
  return [
    { name, kind: "wide", cell: (sum) => brief(sum.name || "(the session itself)", 120) },
    { name: "Calls", kind: "figure", cell: ({ calls }) => count(calls) },
    { name: "Not ok", kind: "figure", cell: ({ failed }) => some(failed) },
    { name: "Read", kind: "figure", cell: ({ usage }) => some(usage.input) },
    { name: "Cached", kind: "figure", cell: ({ usage }) => some(usage.cached) },
    { name: "Wrote", kind: "figure", cell: ({ usage }) => some(usage.output) },
    { name: "Reasoning", kind: "figure", cell: ({ usage }) => some(usage.reasoning) },
    { name: "Time", kind: "figure", cell: ({ ms }) => seconds(ms) },
    { name: "Cost", kind: "figure", cell: ({ usage, unpriced }) => (unpriced > 0 ? "not known" : money(usage.usd)) },
  ];
}

export function failureSection(dossier: Dossier): Section {
  const { failed, retried, unknown, crossed, interrupted } = failuresOf(dossier);
  const rejected = dossier.ways.filter(({ part }) => part === "rejected");
  const worked = dossier.effects.findLast(
    ({ op, result, call }) => op === "check" && dossier.counts(call) && dataOf(result, "check.returned")?.passed === true,
  );
  const words = [
    failed.length === 0 ? "nothing failed" : `${plural(failed.length, "thing")} did not go well`,
    retried.length === 0 ? "nothing was tried again" : `${plural(retried.length, "effect")} took more than one attempt`,
    unknown.length === 0
      ? "nothing stayed unknown"
      : `${plural(unknown.length, "effect")} ${unknown.length === 1 ? "has" : "have"} no known outcome`,
    rejected.length === 0
      ? "no branch was rejected"
      : `${plural(rejected.length, "branch")} ${rejected.length === 1 ? "was" : "were"} rejected`,
    crossed.length === 0 ? "no budget was reached" : `${plural(crossed.length, "limit")} ${crossed.length === 1 ? "was" : "were"} reached`,
  ];
  const body = html`<p class="note">On all branches: ${words.join(", ")}. ${worked === undefined ? "No check passed." : html`What worked in the end: <b>${worked.name}</b> passed at step ${worked.step} on “${brief(dossier.nameOf(worked.session), 60)}”.`}</p>
<h3>What failed</h3>
${failed.length === 0 ? none("Nothing failed.") : table(failed, failureColumns(dossier), "calls.jsonl", 120)}
<h3>What was tried again</h3>
${
  retried.length === 0
    ? none("Every effect went through at its first attempt.")
    : table(retried, [
        { name: "Step", kind: "figure", cell: ({ effect }) => effect.step },
        {
          name: "What",
          cell: ({ effect }) => html`${effect.op} <b>${brief(effect.name, 80)}</b><br><span class="quiet">${effect.by}</span>`,
        },
        { name: "Attempts", kind: "figure", cell: ({ effect }) => effect.attempts },
        { name: "Then", cell: ({ effect }) => outcomeMark(effect.outcome) },
        {
          name: "What went wrong before",
          kind: "wide",
          cell: ({ failures }) => html`${failures.slice(0, 4).map((one) => html`<p class="said">${brief(one, 200)}</p>`)}`,
        },
      ])
}
<h3>What stayed unknown</h3>
${
  unknown.length === 0
    ? none("Every effect that began has an outcome on record.")
    : table(unknown, [
        { name: "Step", kind: "figure", cell: ({ step }) => step },
        { name: "What", kind: "wide", cell: (effect) => html`${effect.op} <b>${brief(effect.name, 120)}</b>` },
        { name: "By", cell: ({ by }) => brief(by, 80) },
        { name: "Outcome", cell: ({ outcome }) => outcomeMark(outcome) },
        { name: "Event", cell: ({ call }) => idOf(call.id, 8) },
      ])
}
<h3>Interruptions</h3>
${interrupted.length === 0 ? none("Its runs went through without a stop.") : html`<ul>${interrupted.slice(0, 100).map(({ run, at, words: said }) => html`<li>${when(at)} <span class="quiet">run</span> ${idOf(run, 8)} ${brief(said, 300)}</li>`)}</ul>`}`;
  return { id: "failures", title: "Failure analysis", body };
}

function failureColumns(dossier: Dossier): readonly Column<Failure>[] {
  return [
    { name: "Step", kind: "figure", cell: ({ step }) => step },
    {
      name: "What",
      cell: ({ kind, what, by }) => html`${kind} <b>${brief(what, 80)}</b>${by === what ? "" : html`<br><span class="quiet">${by}</span>`}`,
    },
    { name: "Why", kind: "wide", cell: ({ why }) => brief(why, 400) },
    { name: "Branch", cell: ({ session }) => brief(dossier.nameOf(session), 60) },
    {
      name: "Later",
      cell: ({ later }) =>
        later === undefined
          ? html`<span class="quiet">not again</span>`
          : html`${mark("ok", "good")} <span class="quiet">step ${later.step}</span>`,
    },
    { name: "Event", cell: ({ event }) => idOf(event, 8) },
  ];
}
