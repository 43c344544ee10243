/** What can be asked about, and the events it leads to first. */
import { RathMemory } from "../runtime/rath-memory.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf, list, stateOf } from "../session/fold.ts";
import { unsupported } from "../session/given.ts";
import type { Log, Node } from "../session/log.ts";
import { ambiguousKey, isMemoryUri, noMemory, readVersionName } from "../session/memory-uri.ts";
import type { MemoryItem, Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { checkOf, messageOf, routeOf } from "../session/views.ts";
import { plural } from "../wire/format.ts";
import type { EventFinder } from "./find-event.ts";
import { nextOf } from "./why-chain.ts";
import { costSteps } from "./why-cost.ts";
import { judgedTree, settledBy, writtenStep } from "./why-files.ts";
import { originOfMemory } from "./why-memory.ts";
import { type Step, stepTo, type Tracing } from "./why-step.ts";
import { nameWords, wordsOf } from "./why-words.ts";

/**
 * What can be asked about:
 *
 * - `"path:line"`: a line of a file
 * - `{ answer }`: the newest reply with these words, and what it had read that has them too; "" for the newest reply
 * - `{ event }`: an event, by its id or the beginning of it
 * - `{ call }`: a call of a tool, by its id or the name of the tool (the newest one): with the branches it lies in
 * - `{ memory }`: a memory, by its key or uri
 * - `{ route }`: a choice, by what was chosen or by its event
 * - `{ check }`: a check, by its name (the newest one); "" for the newest check
 * - `{ cost }`: "" for the model call that cost most, "budget" for the budget that was crossed last, or the name of a model
 */
export type WhyTarget =
  | `${string}:${number}`
  | { readonly answer: string }
  | { readonly event: string }
  | { readonly call: string }
  | { readonly memory: string }
  | { readonly route: string }
  | { readonly check: string }
  | { readonly cost: string };

/** The events that something leads to first, and the words to look for behind them. */
export interface Starts {
  readonly starts: readonly Step[];
  readonly words?: string | undefined;
}

/** Fewer characters stand anywhere. */
const fewestWords = 3;

export async function startsOf(tracing: Tracing, session: Session, target: WhyTarget): Promise<Starts> {
  const asked = given(target);
  switch (asked.kind) {
    case "line":
      return lineStarts(tracing, session, asked.path, asked.line);
    case "answer":
      return answerStarts(tracing, session, asked.name);
    case "event":
      return { starts: await nextOf(tracing, await eventNamed(tracing.finder, session, asked.name)) };
    case "call":
      return { starts: callStarts(await callNamed(tracing, session, asked.name)) };
    case "memory":
      return { starts: await originOfMemory(tracing, await memoryNamed(tracing.runtime, session, asked.name)) };
    case "route":
      return { starts: [stepTo("decided", routeNamed(tracing, session, asked.name))] };
    case "check":
      return { starts: [checkStart(tracing, checkNamed(tracing, session, asked.name))] };
    case "cost":
      return { starts: await costSteps(tracing, session, placeOf(session).node, asked.name) };
    default:
      return asked satisfies never;
  }
}

const kinds = ["answer", "event", "call", "memory", "route", "check", "cost"] as const;

type Asked =
  | { readonly kind: "line"; readonly path: string; readonly line: number }
  | { readonly kind: (typeof kinds)[number]; readonly name: string };

function given(target: unknown): Asked {
  const say = `give "path:line" or one of ${kinds.map((kind) => `{ ${kind} }`).join(", ")}`;
  if (typeof target === "string") {
    const [, path = "", line = ""] = /^(.+):([1-9]\d*)$/s.exec(target) ?? [];
    if (path === "") throw unsupported("target", `is ${JSON.stringify(target)}`, say);
    return { kind: "line", path, line: Number(line) };
  }
  const named = Object.entries((target ?? {}) as Record<string, unknown>).filter(([, name]) => name !== undefined);
  const name = named[0]?.[1];
  const kind = kinds.find((one) => one === named[0]?.[0]);
  if (named.length !== 1 || typeof name !== "string" || kind === undefined)
    throw unsupported("target", "is none that can be asked about", say);
  return { kind, name };
}

/** Through the merges that brought it here, to who wrote it. */
async function lineStarts(tracing: Tracing, session: Session, path: string, line: number): Promise<Starts> {
  const [{ writtenLines }, { mergesBetween }] = await Promise.all([import("./blame.ts"), import("./file-versions.ts")]);
  const { node } = placeOf(session);
  const { path: real, lines } = await writtenLines(tracing.runtime, node, path, { session, signal: tracing.signal });
  const written = lines[line - 1];
  if (written === undefined)
    throw new RathError("workspace.not-found", `${JSON.stringify(path)} has ${plural(lines.length, "line")}: there is no line ${line}.`, {
      session,
      details: { path: real, lines: lines.length },
    });
  const writer = writtenStep(tracing, real, written.by);
  const evidence = { file: { path: real, after: written.by.after } };
  const start = mergesBetween(node, written.by.node).reduceRight<Step>(
    (next, merge) => stepTo("merged", merge, { leaf: true, evidence, next: [...settledBy(tracing, merge, real), next] }),
    writer,
  );
  return { starts: [start], words: wordsIn(written.text) };
}

function wordsIn(text: string): string | undefined {
  const words = text.trim();
  return words.length < fewestWords ? undefined : words;
}

function answerStarts(tracing: Tracing, session: Session, phrase: string): Starts {
  const reply = answerWith(tracing, session, phrase);
  const at = messageOf(reply, tracing.runtime.platform).text.indexOf(phrase);
  const evidence = phrase === "" ? undefined : { words: { text: phrase, at } };
  return { starts: [stepTo("wrote", reply, { evidence })], words: wordsIn(phrase) };
}

/** The call, and the branches that it lies in, from its own to the first. */
function callStarts(call: Node): readonly Step[] {
  const began: Node[] = [];
  for (let log: Log | undefined = call.log; log?.first !== undefined && began.length < mostBranches; ) {
    began.push(log.first);
    log = (log.first.parent ?? log.origin)?.log;
  }
  const branch = began.reduceRight<Step | undefined>(
    (next, first) => stepTo("began", first, { leaf: true, next: next === undefined ? [] : [next] }),
    undefined,
  );
  return [stepTo("called", call, { next: branch === undefined ? [] : [branch] })];
}

const mostBranches = 50;

/** By its id or the beginning of it, else the newest call of a tool with this name. */
async function callNamed({ runtime, finder }: Tracing, session: Session, name: string): Promise<Node> {
  const { platform } = runtime;
  const calls = list(stateOf(placeOf(session).node).calls).map(callOf);
  const toolOf = (call: Node): string => call.data<"tool.called">(platform)?.name ?? "[erased]";
  const named = calls.findLast((call) => toolOf(call) === name);
  if (named !== undefined) return named;
  const byId = /^[0-9a-f]{4,64}$/.test(name) ? await eventNamed(finder, session, name).catch(() => undefined) : undefined;
  const call = byId !== undefined && (isReturned(byId.kind) || isStarted(byId.kind)) ? callOf(byId) : byId;
  if (call !== undefined && isCalled(call.kind)) return call;
  const tools = [...new Set(calls.map(toolOf))];
  throw notFound(
    session,
    `Session ${session.id} has no call ${JSON.stringify(name)}: ${tools.length === 0 ? "it called no tools" : `it called ${listed(tools)}`}.`,
  );
}

function checkStart(tracing: Tracing, check: Node): Step {
  const tree = judgedTree(tracing, check);
  return stepTo("judged", check, { evidence: tree === undefined ? undefined : { trees: { after: tree } } });
}

function checkNamed({ runtime: { platform } }: Tracing, session: Session, name: string): Node {
  const checks = list(stateOf(placeOf(session).node).checks);
  const found = checks.findLast((node) => name === "" || checkOf(node, platform).name === name || node.id === name);
  if (found !== undefined) return found;
  const names = [...new Set(checks.map((node) => checkOf(node, platform).name))];
  const there = names.length === 0 ? "nothing was checked" : `there is ${listed(names)}`;
  throw notFound(session, `Session ${session.id} has no check${name === "" ? "" : ` ${JSON.stringify(name)}`}: ${there}.`);
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 10).map(nameWords);
  return `${shown.join(", ")}${names.length > shown.length ? ` and ${names.length - shown.length} more` : ""}`;
}

/** By its id or the beginning of one; whole ids are found in all of the store. */
async function eventNamed(finder: EventFinder, session: Session, name: string): Promise<Node> {
  const whole = /^[0-9a-f]{64}$/.test(name) ? await finder.find(name) : undefined;
  if (whole !== undefined) return whole;
  const found = finder.startingWith(name);
  if (found.length > 1)
    throw new RathError("session.ambiguous-id", `${name} is the beginning of ${found.length} event ids: write more of it.`, { session });
  const [node] = found;
  if (node === undefined) throw notFound(session, `There is no event ${name || "(empty id)"} behind session ${session.id}.`);
  return node;
}

/** The newest reply with these words on the line, else in work inside it. */
function answerWith({ runtime: { platform }, finder }: Tracing, session: Session, phrase: string): Node {
  const said = (one: Node): boolean => {
    const text = one.kind === "model.returned" && one.facts.outcome === "ok" && !one.erased ? messageOf(one, platform).text : "";
    return text !== "" && text.includes(phrase);
  };
  const line = list(stateOf(placeOf(session).node).talk);
  let found = line.findLast(said);
  if (found === undefined) for (const node of finder.behind()) if (node.step > (found?.step ?? -1) && said(node)) found = node;
  if (found !== undefined) return found;
  const newest = line.findLast(({ kind }) => kind === "model.returned");
  throw notFound(
    session,
    newest === undefined
      ? `No model has answered in session ${session.id}.`
      : `No answer in session ${session.id} contains ${JSON.stringify(phrase)}. The newest one: ${wordsOf(newest, platform)}.`,
  );
}

function routeNamed({ runtime: { platform } }: Tracing, session: Session, name: string): Node {
  const routes = list(stateOf(placeOf(session).node).routes);
  const found =
    routes.findLast((node) => routeOf(node, platform).choice === name) ??
    (name === "" ? routes.at(-1) : routes.findLast((node) => node.id.startsWith(name) || callOf(node).id.startsWith(name)));
  if (found !== undefined) return found;
  const choices = [...new Set(routes.map((node) => routeOf(node, platform).choice))];
  const there = choices.length === 0 ? "it has no routes" : `it chose ${listed(choices)}`;
  throw notFound(session, `Session ${session.id} has no route ${JSON.stringify(name)}: ${there}.`);
}

/** As this session knows it: what it wrote, else what it read, else what is published. */
async function memoryNamed(runtime: Runtime, session: Session, name: string): Promise<MemoryItem> {
  const { uri, version } = readVersionName(name);
  const named = (item: MemoryItem): boolean =>
    isMemoryUri(name) ? item.uri === uri && (version === undefined || item.version === version) : item.key === name;
  for (const items of [session.memory.writes, session.memory.reads]) {
    const found = items.filter(named);
    const uris = [...new Set(found.map((item) => item.uri))];
    if (uris.length > 1) throw ambiguousKey(name, uris);
    const newest = found.at(-1);
    if (newest !== undefined) return newest;
  }
  const item = await new RathMemory(runtime, () => Promise.reject(new Error("not asked"))).get(name);
  if (item !== undefined) return item;
  const keys = [...new Set([...session.memory.writes, ...session.memory.reads].map(({ key }) => key))];
  if (keys.length === 0) throw noMemory(name);
  throw new RathError("memory.not-found", `There is no memory ${name} here. This session wrote or read ${listed(keys)}.`, { session });
}

function notFound(session: Session, message: string): RathError {
  return new RathError("session.not-found", message, { session });
}
