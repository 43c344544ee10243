/** What is left to hand on: a page, the audit as data, the dossiers of what is notable, and every session as a file. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "openrath";
import { dossier, write } from "openrath/audit";
import type { Audit, Audited } from "./audit.ts";

/** Writes it, and gives the tickets that have a dossier. */
export async function handOver(sessions: ReadonlyMap<string, Session>, audit: Audit, folder: string): Promise<readonly string[]> {
  await mkdir(join(folder, "sessions"), { recursive: true });
  for (const [ticket, session] of sessions) await write(session, join(folder, "sessions", `${ticket}.jsonl`));
  const told = audit.sessions.filter(notable).map(({ ticket }) => ticket);
  for (const ticket of told) await dossier(sessions.get(ticket) as Session, join(folder, "dossiers", ticket));
  await writeFile(join(folder, "audit.json"), `${JSON.stringify(audit, undefined, 2)}\n`);
  await writeFile(join(folder, "index.html"), pageOf(audit));
  return told;
}

/** Where somebody decided against it, where nobody knew, where the world was asked twice, and where several worked on it. */
function notable({ decisions, effects, routes }: Audited): boolean {
  const judged = decisions.some(({ refused, about }) => refused || about === "unknown");
  return judged || effects.some(({ asked }) => asked > 1) || routes.filter((choice) => choice !== "done").length > 1;
}

function pageOf({ statements, sessions }: Audit): string {
  const row = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  const of = (one: Audited): string =>
    row([
      notable(one) ? `<a href="dossiers/${one.ticket}/index.html">${one.ticket}</a>` : one.ticket,
      escaped(one.routes.join(" → ")),
      escaped(one.effects.map(({ tool, outcome, done, asked }) => `${tool}: ${outcome}, done ${done}×, asked ${asked}×`).join("; ")),
      escaped(one.decisions.map(({ by, about, reason }) => `${about}: ${by}: ${reason}`).join("; ")),
      one.takenOver === 0 ? "" : `${one.takenOver}×`,
      escaped(one.answer),
      `<a href="sessions/${one.ticket}.jsonl">${one.session.slice(0, 8)}</a>`,
    ]);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Audit of ${sessions.length} sessions</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0}</style>
<h1>Audit of ${sessions.length} sessions</h1>
<table>${statements.map(({ about, holds, says }) => row([holds ? "holds" : "<strong>does not hold</strong>", about, escaped(says)])).join("\n")}</table>
<h2>Sessions</h2>
<table><tr><th>Ticket<th>Routes<th>Effects<th>Decisions<th>Taken over<th>Answer<th>Record</tr>
${sessions.map(of).join("\n")}</table></html>\n`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
