/** A diff as one page: a summary, then what differs, side by side. Whatever was said in it is text and nothing else. */
import { money, plural, shortEvent, shortener } from "../wire/format.ts";
import type { Diff, DiffEvent, DiffPlace } from "./diff-data.ts";
import { type DiffRow, figuresOf, type Section, sectionsOf } from "./diff-rows.ts";
import { type Html, html, page } from "./html.ts";

/** Longer texts are cut on the page; the data has them whole. */
const longest = 20_000;
/** More rows of equal events than these are folded. */
const mostEvents = 2000;

export function diffHtml(diff: Diff): string {
  const short = shortener([diff.a, diff.b, ...diff.ancestors].map(({ session }) => session));
  const title = `${short(diff.a.session)}@${diff.a.step} and ${short(diff.b.session)}@${diff.b.step}`;
  const sections = sectionsOf(diff);
  const body = html`<main>
<h1>What differs: <span class="a">${placeText(diff.a, short)}</span> and <span class="b">${placeText(diff.b, short)}</span></h1>
${summary(diff, short, sections)}
${sections.map(sectionHtml)}
${eventsHtml(diff)}
</main>`;
  return page({ title: `Diff of ${title}`, style, body });
}

function placeText({ session, step }: DiffPlace, short: (id: string) => string): string {
  return `${short(session)}@${step}`;
}

function summary(diff: Diff, short: (id: string) => string, sections: readonly Section[]): Html {
  const { ancestors, detached, first, identical, reused } = diff;
  const several =
    ancestors.length > 1 ? " (several, because the branches were merged crosswise)" : detached ? " (one side was detached there)" : "";
  const found = ancestors.map((place) => `${placeText(place, short)} (${shortEvent(place.event)})`).join(", ");
  const events = new Map(diff.events.flatMap(({ a, b }) => [a, b]).flatMap((event) => (event === undefined ? [] : [[event.id, event]])));
  const side = (id: string | undefined): string => eventText(events.get(id ?? ""));
  return html`<p class="dim">Common ancestor: ${found === "" ? "none" : found}${several}</p>
${identical && html`<p><strong>The same happened on both sides.</strong></p>`}
${(["a", "b"] as const).map((one) => reused[one] !== undefined && html`<p>${one} is a rerun: ${reused[one].results} of ${plural(reused[one].of, "result")} reused${reused[one].saved.usd > 0 && `, ${money(reused[one].saved.usd)} saved`}.</p>`)}
${
  !identical &&
  html`<h2>First difference</h2>
<div class="pair"><div class="a">${side(first.a?.id)}</div><div class="b">${side(first.b?.id)}</div></div>`
}
<h2>After the common ancestor</h2>
<table><thead><tr><th></th><th class="a">a</th><th class="b">b</th></tr></thead><tbody>
${figuresOf(diff).map(({ what, a, b }) => html`<tr${a !== b && html` class="differs"`}><th>${what}</th><td>${a}</td><td>${b}</td></tr>`)}
</tbody></table>
${sections.length > 0 && html`<nav>${sections.map(({ name, title, rows }) => html`<a href="#${name}">${title} ${rows.length}</a> `)}<a href="#events">Events ${diff.events.length}</a></nav>`}`;
}

function sectionHtml({ name, title, rows }: Section): Html {
  return html`<section id="${name}"><h2>${title} (${rows.length})</h2>
${rows.map(rowHtml)}
</section>`;
}

function rowHtml({ what, a, b, patch }: DiffRow): Html {
  const hunks = patch === undefined ? "" : patch.slice(Math.max(0, patch.search(/^@@/m)));
  if (hunks !== "")
    return html`<article><h3>${sign(a, b)} ${cut(what)} ${a === b && html`<span class="dim">${a}</span>`}</h3><pre class="patch">${patchHtml(hunks)}</pre></article>`;
  return html`<article><h3>${sign(a, b)} ${cut(what)}</h3><div class="pair"><div class="a">${sideHtml(a)}</div><div class="b">${sideHtml(b)}</div></div></article>`;
}

function sign(a: string | undefined, b: string | undefined): string {
  return a === undefined ? "only in b:" : b === undefined ? "only in a:" : "";
}

function sideHtml(text: string | undefined): Html {
  return text === undefined ? html`<span class="dim">nothing</span>` : html`<pre>${cut(text)}</pre>`;
}

function patchHtml(patch: string): readonly Html[] {
  return cut(patch)
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      if (line.startsWith("+")) return html`<ins>${line}</ins>\n`;
      return line.startsWith("-") ? html`<del>${line}</del>\n` : html`<span class="dim">${line}</span>\n`;
    });
}

function eventsHtml({ events }: Diff): Html {
  const shown = events.slice(0, mostEvents);
  return html`<section id="events"><h2>Events (${events.length})</h2>
<table class="events"><thead><tr><th class="a">a</th><th class="b">b</th></tr></thead><tbody>
${shown.map(({ relation, a, b }) => html`<tr class="${relation}"><td class="a">${eventText(a)}</td><td class="b">${eventText(b)}</td></tr>`)}
</tbody></table>
${events.length > shown.length && html`<p class="dim">${plural(events.length - shown.length, "more event")} not shown here.</p>`}
</section>`;
}

function eventText(event: DiffEvent | undefined): string {
  if (event === undefined) return "";
  return `${event.step}  ${event.line}${event.source === undefined ? "" : " [reused]"}`;
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}\n… ${plural(text.length - longest, "more character")}`;
}

const style = `
:root { color-scheme: light dark; --ink: #1c2024; --dim: #60646c; --line: #d9d9e0; --a: #ce2c31; --b: #218358; --paper: #fff; --a-paper: #fff0f0; --b-paper: #effaf3; }
@media (prefers-color-scheme: dark) { :root { --ink: #edeef0; --dim: #b0b4ba; --line: #43484e; --a: #ff9592; --b: #3dd68c; --paper: #111113; --a-paper: #2c1416; --b-paper: #132a1e; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } h3 { font-size: .95rem; margin: .8rem 0 .2rem; overflow-wrap: anywhere; }
h1 .a, th.a { color: var(--a); } h1 .b, th.b { color: var(--b); }
.dim { color: var(--dim); font-weight: normal; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: normal; }
tr.differs td { font-weight: 600; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .6rem; }
.pair > div, pre.patch { padding: .4rem .6rem; border: 1px solid var(--line); border-radius: 4px; overflow-wrap: anywhere; min-width: 0; }
.pair > .a { border-left: 3px solid var(--a); } .pair > .b { border-left: 3px solid var(--b); }
ins, del { text-decoration: none; } ins { background: var(--b-paper); color: var(--b); } del { background: var(--a-paper); color: var(--a); }
table.events { width: 100%; table-layout: fixed; font: 13px/1.45 ui-monospace, monospace; } table.events td { overflow-wrap: anywhere; }
tr.same td { color: var(--dim); } tr.changed td.a, tr.only td.a:not(:empty) { background: var(--a-paper); } tr.changed td.b, tr.only td.b:not(:empty) { background: var(--b-paper); }
nav { margin: 1rem 0; } nav a { margin-right: .8rem; color: inherit; }
@media (max-width: 40rem) { .pair { grid-template-columns: 1fr; } }
@media print { :root { color-scheme: light; --ink: #000; --dim: #444; --line: #bbb; --a: #a40e26; --b: #116329; --paper: #fff; --a-paper: #ffebe9; --b-paper: #e6ffec; } main { max-width: none; padding: 0; } article, tr { break-inside: avoid; } nav { display: none; } }
`;
