/** The last part of the page: where it was made, what was checked, how to check it oneself, and what it proves. */
import { count, plural } from "../../wire/format.ts";
import { signedByOthers } from "../coverage.ts";
import { type Html, html } from "../html.ts";
import { block, brief, facts, folded, idOf, mark, none, type Section, table } from "./blocks.ts";
import type { Environment } from "./manifest.ts";
import type { ModelSource } from "./model-source.ts";
import { type Proof, recordWord, signersOf } from "./proof.ts";
import type { Dossier } from "./read.ts";
import { sourceMark } from "./work.ts";

export function environmentSection(environment: Environment): Section {
  const { openrath, node, platform, store, workflows, workers, models, sandboxes, tools, redacted } = environment;
  const body = html`${facts([
    ["Written by", `openrath ${openrath} on Node ${node}, ${platform}`],
    ["Store", store],
    [
      "Workers",
      workers.length === 0 ? "one process from beginning to end" : `the one that began it, then ${brief(workers.join(", "), 300)}`,
    ],
    [
      "Sandboxes",
      sandboxes.length === 0
        ? "none"
        : sandboxes
            .map(({ backend, isolation, effects }) => `${backend} (isolation ${isolation}): ${plural(effects, "effect")}`)
            .join("; "),
    ],
    [
      "Secrets",
      `${redacted.onRecord === 0 ? "none had to be replaced" : `${plural(redacted.onRecord, "secret")} replaced`} when the record was written; ${redacted.again === 0 ? "none found" : `${count(redacted.again)} replaced`} when it was read again for this page`,
    ],
  ])}
<h3>Workflows</h3>
${workflows.length === 0 ? none("No workflow ran.") : workflowTable(workflows)}
<h3>Models</h3>
${models.length === 0 ? none("No model was asked.") : modelTable(models)}
${tools.length === 0 ? "" : folded(html`${plural(tools.length, "tool")} with their revisions`, toolTable(tools))}`;
  return { id: "environment", title: "Environment", body };
}

function workflowTable(workflows: Environment["workflows"]): Html {
  return table(workflows, [
    { name: "Workflow", kind: "wide", cell: ({ name }) => html`<b>${brief(name, 120)}</b>` },
    { name: "Revision", cell: ({ revision }) => (revision === null ? "not known" : idOf(revision)) },
    { name: "Run", cell: ({ run }) => idOf(run, 13) },
    { name: "Status", cell: ({ status }) => mark(status, status === "done" ? "good" : status === "failed" ? "bad" : "plain") },
  ]);
}

function modelTable(models: Environment["models"]): Html {
  return table(models, [
    { name: "Model", kind: "wide", cell: ({ model }) => html`<b>${brief(model, 120)}</b>` },
    { name: "Calls", kind: "figure", cell: ({ calls }) => count(calls) },
    {
      name: "Source",
      cell: ({ sources }) =>
        html`${(Object.entries(sources) as [ModelSource, number][]).map(([source, number]) => html`${sourceMark(source)} ${count(number)} `)}`,
    },
    {
      name: "Prices of",
      cell: ({ prices }) => prices.map((one) => (one === "own" ? "the project" : one)).join(", ") || "costs nothing, or no price",
    },
  ]);
}

function toolTable(tools: Environment["tools"]): Html {
  return table(tools, [
    { name: "Tool", kind: "wide", cell: ({ name }) => brief(name, 120) },
    { name: "Revision", cell: ({ revision }) => (revision === null ? "not known" : idOf(revision)) },
    { name: "Calls", kind: "figure", cell: ({ calls }) => count(calls) },
  ]);
}

export function verificationSection(proof: Proof): Section {
  const { verification, replay } = proof;
  const { ok, problems, events, unsigned, unknownKeys, statement } = verification;
  const others = signedByOthers(verification);
  const tail = unsigned - others;
  const body = html`${facts([
    [
      "Record",
      html`${mark(...recordWord(ok, problems.length))} ${plural(events, "event")} read again: hashes, order, contents and signatures`,
    ],
    [
      "Not signed",
      unsigned === 0
        ? "none: a signed statement vouches for every event"
        : tail === 0
          ? "none, but see the keys"
          : `${plural(tail, "event")}, written after the last statement`,
    ],
    [
      "Unknown keys",
      unknownKeys.length === 0
        ? "none"
        : html`${unknownKeys.slice(0, 10).map((key) => html`${idOf(key)} `)} <span class="quiet">signed ${others === 0 ? "it" : plural(others, "event")}, and ${unknownKeys.length === 1 ? "was" : "were"} not known where this was written</span>`,
    ],
    [
      "Replay",
      html`${replay.done ? mark(replay.identical ? "identical" : "differs", replay.identical ? "good" : "bad") : mark("not done", "warn")} ${brief(replay.words.replace(/^(?:identical: |diverged )/, ""), 400)}`,
    ],
  ])}
${
  problems.length === 0
    ? ""
    : table(
        problems,
        [
          { name: "About", cell: ({ event }) => idOf(event) },
          { name: "Problem", kind: "wide", cell: ({ problem }) => brief(problem, 400) },
        ],
        "verification.json",
      )
}
${statement === undefined ? "" : html`<p class="note">The newest signed statement. Kept elsewhere, it shows later whether the record was cut back: <code>openrath verify ID --anchor FILE</code>.</p>${folded("Statement", block(statement))}`}`;
  return { id: "verification", title: "Verification", body };
}

/** What to type. `alone`: the page stands by itself, without its folder. */
export function replaySection(dossier: Dossier, proof: Proof, alone: boolean): Section {
  const { session, runs, changes } = dossier;
  const id = session.id;
  const waiting = runs.find(({ status }) => status === "waiting" || status === "running" || status === "queued");
  const workflow = proof.replay.workflow;
  const commands: (readonly [string, string])[] = [
    ...(alone
      ? []
      : ([
          ["sha256sum -c SHA256SUMS", "are the files of this folder as they were written?"],
          ["openrath import session", "takes the session into another store, checking every hash"],
        ] as const)),
    [
      ["openrath verify", id, ...signersOf(proof).map((key) => `--key ${key}`)].join(" "),
      "reads the whole record again; exit code 4 when something is wrong. Ask whoever signed it whether the key is theirs: openrath doctor shows it to them",
    ],
    ...(workflow === undefined
      ? []
      : ([[`openrath replay ${id}`, `executes ${brief(workflow, 60)} against the record; calls nothing, costs nothing`]] as const)),
    ...(workflow === undefined
      ? []
      : ([[`openrath rerun ${id}`, "the same again on a fork; results with equal inputs are reused"]] as const)),
    [`openrath show ${id}@STEP`, "the session as it was at a step"],
    [`openrath fork ${id}@STEP`, "goes on from there on a branch of its own"],
    [`openrath why ${id}`, "what led to the newest answer"],
    ...(changes.length === 0
      ? []
      : ([[alone ? `openrath apply ${id} DIRECTORY` : "git apply patch.diff", "writes the accepted patch"]] as const)),
    ...(waiting === undefined ? [] : ([[`openrath resume ${waiting.id}`, `the run is ${waiting.status}: goes on with it`]] as const)),
  ];
  const body = html`<div class="commands">${commands.map(([command, words]) => html`<p><code>${command}</code> <span class="quiet">${words}</span></p>`)}</div>
<p class="note">Scripted and recorded replies come again when the program is executed again. Live replies are taken from the record by <code>replay</code> and asked for anew only by <code>rerun</code>, where their input changed.</p>`;
  return { id: "replay", title: "Replay it yourself", body };
}

/** The questions a record must answer, and where this page does. */
const questions: readonly (readonly [question: string, ...sections: string[]])[] = [
  ["Which branch produced the final result?", "outcome", "graph"],
  ["Which tool call modified which file?", "files"],
  ["Which memory was recalled or committed?", "memory"],
  ["Which evidence was removed by compression?", "context"],
  ["What was the input state?", "task"],
  ["What changed?", "files"],
  ["Which backend performed the change?", "placement", "files"],
  ["Which memory or file was there when it was decided?", "memory", "models"],
  ["How can the run be resumed or replayed?", "replay"],
  ["Which branch produced a given claim?", "branches", "said"],
  ["Which sandbox touched a file?", "files", "placement"],
  ["Which memory was recalled at a step?", "memory"],
  ["What context existed at a step, and can one fork from there?", "models", "replay"],
  ["What led to a tool call?", "tools", "replay"],
  ["What memory was there before compression?", "context", "memory"],
  ["How do two branches from one point compare?", "branches"],
  ["Which branches were abandoned or rejected, and why?", "branches"],
  ["Which role, call and workspace produced the answer?", "outcome", "roles"],
  ["What were arguments and results; what failed and was retried?", "tools", "failures"],
  ["Who approved, and which check confirmed it?", "approvals", "checks"],
  ["Why was a memory present in the run?", "memory"],
  ["What evidence justified a memory, and can it be taken back?", "memory"],
  ["Who gets the session next, with what, and why?", "roles", "placement"],
  [
    "Task, environment, workflow, tools, side effects, memory, validation?",
    "task",
    "environment",
    "tools",
    "placement",
    "memory",
    "checks",
  ],
  ["What did it cost, where did a budget cross, where was it interrupted?", "cost", "failures"],
  ["Who holds the sandbox, and was it cleaned up?", "placement"],
  ["How do effects of outside servers return?", "tools"],
  ["What moves between roles besides text?", "roles"],
];

export function limitsSection(proof: Proof, sections: readonly Section[]): Section {
  const titles = new Map(sections.map(({ id, title }) => [id, title]));
  const link = (id: string): Html => html`<a href="#${id}">${titles.get(id) ?? id}</a>`;
  const rows = questions.map(([question, ...places], index) => ({
    number: `Q${index + 1}`,
    question,
    places: places.filter((id) => titles.has(id)),
  }));
  const body = html`<div class="two">
<div><h3>It proves</h3><ul>
<li>What was asked, said, called, returned and changed, in which order and on which branch: every event names its parents and is named by its hash${proof.verification.ok ? "" : html` <b>(but see <a href="#verification">Verification</a>)</b>`}.</li>
<li>That nothing was changed in it since it was signed${proof.verification.unsigned === signedByOthers(proof.verification) ? "" : ", except for events after the last statement"}.</li>
<li>${proof.replay.done && proof.replay.identical ? "That the workflow, executed again, asks for exactly what is on record." : "How to find out whether the workflow still does what is on record."}</li>
</ul></div>
<div><h3>It does not prove</h3><ul>
<li>That a live model would say the same again, or that what a model, tool or person said is true.</li>
<li>That something which was in context was the cause of what came after it.</li>
<li>That whoever holds the signing key did not write another history: only a statement kept elsewhere shows that.</li>
<li>What tools did outside their sandbox beyond what they returned, and what happened after this was read.</li>
</ul></div></div>
<h3>Questions and where they are answered</h3>
<ol class="questions">${rows.map(({ question, places }) => html`<li>${question} <span class="to">${places.map((id, index) => html`${index === 0 ? "" : ", "}${link(id)}`)}</span></li>`)}</ol>`;
  return { id: "limits", title: "What this dossier proves, and what it does not", body };
}
