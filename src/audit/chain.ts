/** How the events of a record hang together: parents, steps, times, logs, answers, blobs. */
import { counted } from "../session/counted.ts";
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { answerLogId, mailboxLogId } from "../session/id.ts";
import type { Platform } from "../session/platform.ts";
import type { LogAbout } from "../store/store.ts";
import type { Gathered, GatheredLog } from "./gather.ts";
import type { Entry } from "./inspect.ts";
import type { Finding, ProblemKind } from "./problem.ts";

/** What is wrong with the links between the events of a record. */
export function checkChain(platform: Platform, gathered: Gathered): readonly Finding[] {
  const findings: Finding[] = [];
  const taken = new Map<string, string>();
  for (const log of gathered.logs.values()) {
    if (log.length === 0) continue;
    findings.push(...checkRow(gathered, log));
    const entries = log.length === log.entries.length ? log.entries : log.entries.slice(0, log.length);
    entries.forEach((entry, index) => {
      const say: Say = (problem, field, kind) => findings.push({ event: entry.id, problem, field, kind });
      if (entry.kind === undefined) return;
      const before = entries[index - 1];
      checkParents(gathered, entry, before, say);
      checkPosition(log, entry, before, say);
    });
    findings.push(...checkAnswers(platform, gathered, log, entries));
    findings.push(...checkSignals(platform, gathered, log, entries, taken));
  }
  return findings;
}

type Say = (problem: string, field: string, kind: ProblemKind) => unknown;

function checkParents(gathered: Gathered, entry: Entry, before: Entry | undefined, say: Say): void {
  let step = 1;
  let whole = true;
  for (const id of entry.parents) {
    const parent = id === before?.id ? before : gathered.entries.get(id);
    if (parent === undefined) {
      whole = false; // gathering has said so
      continue;
    }
    step = Math.max(step, parent.step + 1);
    if (parent.at > entry.at) say(`its time ${entry.at} is before ${parent.at}, the time of its parent ${id}`, "envelope.at", "order");
  }
  if (whole && entry.step !== step) say(`its step is ${entry.step}, after its parents it must be ${step}`, "envelope.step", "moved");
}

const rootKinds: ReadonlySet<string> = new Set(["session.created", "session.detached", "session.imported"]);

function checkPosition(log: GatheredLog, entry: Entry, before: Entry | undefined, say: Say): void {
  const { kind = "", parents, run } = entry;
  const sort = sortOf(kind);
  if (before !== undefined) {
    if (!parents.includes(before.id))
      say(
        `it does not continue ${before.id}, the event before it in log ${log.id}: an event was removed, added or moved`,
        "envelope.parents",
        "moved",
      );
    if (sortOf(before.kind ?? kind) !== sort)
      say(`a ${kind} does not belong after a ${before.kind} in log ${log.id}`, "envelope.kind", "moved");
  } else if (kind === "session.forked" ? parents.length !== 1 : sort === "session" && !rootKinds.has(kind)) {
    say(
      `log ${log.id} cannot begin with a ${kind} that has ${counted(parents.length, "parent")}: events before it are missing`,
      "envelope.kind",
      "missing",
    );
  } else if (kind !== "session.forked" && parents.length > 0) {
    say(`log ${log.id} begins with a ${kind} that has parents: events before it are missing`, "envelope.parents", "missing");
  }
  if (sort === "run" && run !== log.id) say(`it lies in the own log of run ${log.id}, but ${run ?? "no run"} wrote it`, "run", "moved");
  if (sort === "session" && run === undefined) say("no run wrote it", "run", "changed");
}

/** Titles, tags and principals are not part of the chain. */
function checkRow(gathered: Gathered, log: GatheredLog): Finding[] {
  const { row, entries, whole } = log;
  const [first] = entries;
  const last = entries.at(-1);
  if (first === undefined || last === undefined) return [];
  if (row === undefined) return whole ? [{ event: log.id, problem: "the log has events but is not listed", kind: "listed" }] : [];
  const findings: Finding[] = [];
  if (whole && row.head !== last.id)
    findings.push({
      event: log.id,
      problem: `the head of the log is given as ${row.head}, its last event is ${last.id}`,
      field: "head",
      kind: "listed",
    });
  if (first.kind !== undefined && row.log !== sortOf(first.kind))
    findings.push({
      event: log.id,
      problem: `it is listed as the log of a ${row.log}, but begins with a ${first.kind}`,
      field: "log",
      kind: "listed",
    });
  if (row.run !== first.run)
    findings.push({
      event: log.id,
      problem: `it is listed as made by ${row.run ?? "no run"}, but ${first.run ?? "no run"} wrote its first event`,
      field: "run",
      kind: "listed",
    });
  const origin = first.parents[0] === undefined ? undefined : gathered.entries.get(first.parents[0]);
  if (row.parent !== origin?.session && (origin !== undefined || first.parents.length === 0)) {
    findings.push({
      event: log.id,
      problem: `it is listed as a continuation of ${row.parent ?? "no session"}, but continues ${origin?.session ?? "none"}`,
      field: "parent",
      kind: "listed",
    });
  }
  return findings;
}

/** Kinds that a run says of itself. */
const ofRuns = /^(?:run\.|sandbox\.|workspace\.|memory\.|budget\.)/;

function sortOf(kind: string): LogAbout["log"] {
  if (kind === "data.erased") return "erasure";
  return ofRuns.test(kind) ? "run" : kind === "answer.given" || kind === "signal.sent" ? "answer" : "session";
}

/** A result has a call; an answer it names is the answer to that call, or to what became of it, or what its source was answered. An answer is alone in the log of its question. */
function checkAnswers(platform: Platform, gathered: Gathered, log: GatheredLog, entries: readonly Entry[]): Finding[] {
  const findings: Finding[] = [];
  const called = new Set<string>();
  const returned = new Set<string>();
  /** Marks that a call was started after waiting: a question about it may be asked under them. */
  const marks = new Map<string, string | undefined>();
  let last: string | undefined;
  entries.forEach((entry, index) => {
    const { id, kind, call, names } = entry;
    if (kind === undefined) return;
    if (isCalled(kind)) {
      last = id;
      called.add(id);
    }
    if (kind === "answer.given" && index > 0)
      findings.push({ event: id, problem: `it is a second answer in log ${log.id}: only the first one counts`, kind: "moved" });
    if (names.question !== undefined && answerLogId(platform, names.question) !== log.id)
      findings.push({
        event: id,
        problem: `it answers ${names.question}, but does not lie in the log of that question`,
        field: "data.question",
        kind: "moved",
      });
    if (isStarted(kind)) marks.set(id, call ?? last);
    if (!isReturned(kind)) return;
    const asked = call ?? last;
    if (asked === undefined || !called.has(asked))
      findings.push({
        event: id,
        problem: "it is the result of a call that is not before it in its log",
        field: "envelope.facts.call",
        kind: "moved",
      });
    else if (returned.has(asked))
      findings.push({ event: id, problem: `it is a second result of the call ${asked}`, field: "envelope.facts.call", kind: "moved" });
    else returned.add(asked);
    const answers = (question: string | undefined): boolean =>
      question === asked || (question !== undefined && marks.get(question) === asked);
    const answer = names.answer === undefined ? undefined : gathered.entries.get(names.answer);
    if (answer?.kind === undefined) return;
    const isAnswer = entry.source === undefined ? answers(answer.names.question ?? asked) : answersSource(gathered, entry, answer);
    if (answer.kind !== "answer.given" || !isAnswer) {
      findings.push({
        event: id,
        problem: `it names ${answer.id} as its answer, which is not the answer to its question`,
        field: "data.answer",
        kind: "moved",
      });
    }
  });
  return findings;
}

/** What a rerun reuses keeps the answer of its source, which is checked where it lies: another one was never given to it. */
function answersSource({ entries, logs }: Gathered, result: Entry, answer: Entry): boolean {
  const seen = new Set<string>();
  let at = result;
  while (at.source !== undefined) {
    const source = entries.get(at.source);
    if (source?.kind === undefined) return true; // gathering has said so
    if (source.kind !== result.kind || seen.has(source.id)) return false;
    if (!source.erased) return source.names.answer === answer.id;
    seen.add(source.id);
    at = source;
  }
  // Which answer it named was erased, and not what it was called for.
  const { question } = answer.names;
  return question === undefined || questionsOf(logs.get(at.session), at).has(question);
}

/** Under which a person can have been asked about the call of a result: its own id, and the marks that it was started after waiting. */
function questionsOf(log: GatheredLog | undefined, result: Entry): ReadonlySet<string> {
  const before = log?.entries.slice(0, result.index) ?? [];
  const call = result.call ?? before.findLast(({ kind }) => kind !== undefined && isCalled(kind))?.id;
  const questions = new Set<string>(call === undefined ? [] : [call]);
  let last: string | undefined;
  for (const { id, kind, call: named } of before) {
    if (kind === undefined) continue;
    if (isCalled(kind)) last = id;
    if (isStarted(kind) && (named ?? last) === call) questions.add(id);
  }
  return questions;
}

/** A signal lies in the mailbox of its name and run. Who takes it waits for that name in that run, and nobody else takes it there. */
function checkSignals(
  platform: Platform,
  gathered: Gathered,
  log: GatheredLog,
  entries: readonly Entry[],
  taken: Map<string, string>,
): Finding[] {
  const findings: Finding[] = [];
  let last: Entry | undefined;
  for (const entry of entries) {
    const { id, kind, names, run } = entry;
    if (kind === "receive.called") last = entry;
    if (kind === "signal.sent" && names.mailbox !== undefined) {
      const { signal, run: to = "" } = names.mailbox;
      if (mailboxLogId(platform, to, signal) !== log.id)
        findings.push({
          event: id,
          problem: `it is the signal "${signal}" to run ${to}, but does not lie in that mailbox`,
          field: "data",
          kind: "moved",
        });
    }
    if (names.signal === undefined) continue;
    const say = (problem: string): unknown => findings.push({ event: id, problem, field: "data.signal", kind: "moved" });
    const signal = gathered.entries.get(names.signal);
    const { mailbox } = signal?.names ?? {};
    if (signal?.kind !== undefined && signal.kind !== "signal.sent") say(`it names ${signal.id} as its signal, which is none`);
    else if (mailbox !== undefined && mailbox.signal !== (last?.names.mailbox?.signal ?? mailbox.signal))
      say(`it took the signal "${mailbox.signal}" and waited for another one`);
    // What a rerun reuses was taken by the run before it.
    if (entry.source !== undefined) continue;
    if (mailbox !== undefined && mailbox.run !== run) say(`it took a signal that was sent to run ${mailbox.run}`);
    const other = taken.get(names.signal);
    if (other !== undefined) say(`it took a signal that ${other} had taken`);
    taken.set(names.signal, id);
  }
  return findings;
}
