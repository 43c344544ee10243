/** The page over many dossiers: what holds for all of them, and a row for each. */
import type { Session } from "../../session/session.ts";
import { count, money, plural } from "../../wire/format.ts";
import { type Html, html, page } from "../html.ts";
import { brief, mark, none, table } from "./blocks.ts";
import { recordWord } from "./proof.ts";
import { style } from "./style.ts";

/** Something that was found out about all of the sessions, and whether it holds. */
export interface Claim {
  readonly claim: string;
  readonly holds: boolean;
}

/** What the page says of one session. */
export interface DossierEntry {
  readonly session: string;
  readonly title: string;
  /** The folder of its dossier, beside the page. */
  readonly folder: string;
  /** "idle" where nothing is wrong with it. */
  readonly status: Session["status"];
  readonly answer: string;
  readonly checks: readonly { readonly name: string; readonly passed: boolean; readonly reason: string | undefined }[];
  readonly routes: readonly string[];
  readonly calls: readonly { readonly id: string; readonly tool: string; readonly outcome: string }[];
  readonly memory: { readonly read: readonly string[]; readonly written: readonly string[] };
  readonly decisions: readonly {
    readonly about: string;
    readonly by: string | undefined;
    readonly approve: boolean | undefined;
    readonly reason: string | undefined;
  }[];
  /** How often a process died of it, or was cut off, and another one went on. */
  readonly takenOver: number;
  /** On all branches, also those that were rejected. */
  readonly spent: { readonly models: number; readonly tokens: number; readonly usd: number };
  /** As in the report of its dossier. */
  readonly verified: boolean;
  readonly problems: number;
  readonly unknownKeys: readonly string[];
  readonly replayed: boolean | undefined;
}

/** The text of the page. */
export function listPage(title: string, claims: readonly Claim[], entries: readonly DossierEntry[]): string {
  const body = html`<div class="sheet plain">
<header>
<p class="over">Dossiers of ${plural(entries.length, "session")}</p>
<h1>${title}</h1>
${tiles(entries)}
</header>
<main>
${claims.length === 0 ? "" : html`<section id="claims"><h2>What is claimed of all of them</h2>\n${claimTable(claims)}</section>`}
<section id="sessions"><h2>Sessions</h2>
${entries.length === 0 ? none("There are none.") : entryTable(entries)}</section>
<footer>Beside this page: a folder for each session, its dossier, and <code>manifest.json</code>, which says the same as this page. This page runs nothing and loads nothing.</footer>
</main>
</div>`;
  return page({ title: `${title} · dossiers`, style, body });
}

function tiles(entries: readonly DossierEntry[]): Html {
  const tile = (name: string, value: string | number, note: string): Html =>
    html`<div class="tile"><b>${value}</b><span>${name}</span><small>${note}</small></div>`;
  const number = (holds: (entry: DossierEntry) => boolean): number => entries.filter(holds).length;
  const sum = (part: (entry: DossierEntry) => number): number => entries.reduce((total, entry) => total + part(entry), 0);
  const undone = number(({ replayed }) => replayed === undefined);
  return html`<div class="tiles">
${tile("Records", `${number(({ verified }) => verified)} of ${entries.length}`, "intact")}
${tile("Replays", `${number(({ replayed }) => replayed === true)} of ${entries.length}`, undone === 0 ? "identical" : `identical, ${undone} not done`)}
${tile("Sessions", count(number(({ status }) => status === "idle")), `as they should be, ${number(({ status }) => status === "rejected")} rejected`)}
${tile("Decisions", count(sum(({ decisions }) => decisions.length)), "from outside")}
${tile("Taken over", count(sum(({ takenOver }) => takenOver)), "after a process had died")}
${tile("Model calls", count(sum(({ spent }) => spent.models)), `${count(sum(({ spent }) => spent.tokens))} tokens`)}
${tile("Cost", money(sum(({ spent }) => spent.usd)), "on all branches")}
</div>`;
}

function claimTable(claims: readonly Claim[]): Html {
  return table(
    claims,
    [
      { name: "Holds", kind: "narrow", cell: ({ holds }) => (holds ? mark("holds", "good") : mark("does not hold", "bad")) },
      { name: "Claim", kind: "wide", cell: ({ claim }) => claim },
    ],
    "manifest.json",
    claims.length,
  );
}

function entryTable(entries: readonly DossierEntry[]): Html {
  return table(
    entries,
    [
      { name: "Session", cell: ({ title, folder }) => html`<a href="${folder}/index.html">${brief(title, 80)}</a>` },
      { name: "Status", kind: "narrow", cell: ({ status }) => mark(status, status === "idle" ? "good" : "bad") },
      { name: "Checks", cell: ({ checks }) => html`${checks.map(checkMark)}` },
      { name: "Routes", cell: ({ routes }) => routes.join(" → ") },
      { name: "Calls", cell: ({ calls }) => tally(calls.map(({ tool, outcome }) => (outcome === "ok" ? tool : `${tool}: ${outcome}`))) },
      { name: "Memory", cell: memoryText },
      { name: "Decided", cell: ({ decisions }) => html`${decisions.map(decisionText)}` },
      { name: "Taken over", kind: "figure", cell: ({ takenOver }) => (takenOver === 0 ? "" : count(takenOver)) },
      { name: "Cost", kind: "figure", cell: ({ spent }) => `${count(spent.tokens)} tokens, ${money(spent.usd)}` },
      {
        name: "Record",
        cell: ({ verified, problems, replayed }) => html`${mark(...recordWord(verified, problems))} ${replayMark(replayed)}`,
      },
      { name: "Answer", kind: "wide", cell: ({ answer }) => brief(answer, 200) },
    ],
    "manifest.json",
    entries.length,
  );
}

function checkMark({ name, passed, reason }: DossierEntry["checks"][number]): Html {
  return html`<p>${mark(name, passed ? "good" : "bad")} ${passed ? "" : brief(reason ?? "", 160)}</p>`;
}

function memoryText({ memory: { read, written } }: DossierEntry): string {
  return [read.length === 0 ? "" : `read ${read.join(", ")}`, written.length === 0 ? "" : `wrote ${written.join(", ")}`]
    .filter((part) => part !== "")
    .join("; ");
}

function decisionText({ about, by, approve, reason }: DossierEntry["decisions"][number]): Html {
  return html`<p>${about}${approve === undefined ? "" : approve ? " granted" : " refused"} by ${by}: ${brief(reason ?? "no reason given", 120)}</p>`;
}

function replayMark(replayed: boolean | undefined): Html {
  return replayed === undefined ? mark("not replayed", "quiet") : replayed ? mark("identical", "good") : mark("differs", "bad");
}

/** Each name, with how often it is there. */
function tally(names: readonly string[]): string {
  return [...new Set(names)]
    .map((name) => [name, names.filter((one) => one === name).length] as const)
    .map(([name, number]) => (number === 1 ? name : `${name} ×${number}`))
    .join(", ");
}
