/** The page of a session: one file that answers for it, with no script in it and no request from it. */
import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Session } from "../../session/session.ts";
import { html, page } from "../html.ts";
import type { Section } from "./blocks.ts";
import { approvalSection, costSection, failureSection } from "./ending.ts";
import { linkSection } from "./links.ts";
import { type Environment, environmentOf } from "./manifest.ts";
import { type Proof, prove } from "./proof.ts";
import { type Dossier, readDossier } from "./read.ts";
import { branchSection, graphSection, headOf, outcomeSection, saidSection, taskSection, timelineSection } from "./story.ts";
import { style } from "./style.ts";
import { contextSection, memorySection, patchSection, placementSection } from "./traces.ts";
import { environmentSection, limitsSection, replaySection, verificationSection } from "./trust.ts";
import { checkSection, modelSection, roleSection, toolSection } from "./work.ts";

/** How the page of a session is made. */
export interface PageOptions {
  /** Whether the workflow is executed against the record, where it is at hand. Default true; where it is not, the page says so. */
  readonly replay?: boolean | undefined;
}

/** Writes the page of a session to a file that appears under its name only when all of it is there. */
export async function writePage(session: Session, file: string, options: PageOptions = {}): Promise<void> {
  const dossier = await readDossier(session);
  const proof = await prove(session, { replay: options.replay });
  const text = pageOf(dossier, proof, await environmentOf(dossier), { alone: true });
  const path = resolve(file);
  const partial = `${path}.${randomUUID()}.partial`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(partial, text, { flag: "wx" });
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** The text of the page. `alone`: nothing lies beside it. */
export function pageOf(dossier: Dossier, proof: Proof, environment: Environment, { alone }: { readonly alone: boolean }): string {
  const told: readonly Section[] = [
    taskSection(dossier),
    outcomeSection(dossier),
    graphSection(dossier),
    timelineSection(dossier),
    branchSection(dossier),
    patchSection(dossier),
    checkSection(dossier),
    toolSection(dossier),
    modelSection(dossier),
    roleSection(dossier),
    memorySection(dossier),
    contextSection(dossier),
    approvalSection(dossier),
    placementSection(dossier),
    linkSection(dossier),
    costSection(dossier),
    failureSection(dossier),
    saidSection(dossier),
    environmentSection(environment),
    verificationSection(proof),
    replaySection(dossier, proof, alone),
  ];
  const sections = [...told, limitsSection(proof, told)];
  const body = html`<div class="sheet">
${headOf(dossier, proof)}
<nav aria-label="Contents"><ol>${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ol></nav>
<main>
${sections.map(({ id, title, body: inside }) => html`<section id="${id}"><h2><a href="#${id}">${title}</a></h2>\n${inside}</section>\n`)}
<footer>${
    alone
      ? "This page is complete in itself: it runs nothing and loads nothing."
      : html`Beside this page: <code>session/</code> the record itself, <code>report.md</code> a summary, <code>calls.jsonl</code> calls of tools and effects, <code>lineage.jsonl</code> branches, <code>patch.diff</code>, <code>graph.svg</code>, <code>verification.json</code>, <code>manifest.json</code> and <code>SHA256SUMS</code>. This page runs nothing and loads nothing.`
  }</footer>
</main>
</div>`;
  return page({ title: `${dossier.title} · dossier`, style, body });
}
