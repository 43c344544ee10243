/** What can be asked about, and the events it leads to first. */
import { RathMemory } from "../runtime/rath-memory.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import { callOf, list, stateOf } from "../session/fold.ts";
import { unsupported } from "../session/given.ts";
import type { Node } from "../session/log.ts";
import { ambiguousKey, isMemoryUri, noMemory, readVersionName } from "../session/memory-uri.ts";
import type { MemoryItem, Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { messageOf, routeOf } from "../session/views.ts";
import type { EventFinder } from "./find-event.ts";
import { nextOf, originOfMemory, type Step } from "./why-chain.ts";
import { wordsOf } from "./why-words.ts";

/**
 * A line of a file as "path:line", or one named thing: an event by its id, a memory by its key or uri, an answer by some of its
 * words ("" for the newest one), a route by what was chosen or by its event.
 */
export type WhyTarget =
  | `${string}:${number}`
  | { readonly event: string }
  | { readonly memory: string }
  | { readonly answer: string }
  | { readonly route: string };

export async function startsOf(runtime: Runtime, finder: EventFinder, session: Session, target: WhyTarget): Promise<readonly Step[]> {
  const asked = given(target);
  switch (asked.kind) {
    case "line":
      return lineStarts(runtime, finder, session, asked.path, asked.line);
    case "event":
      return nextOf({ runtime, finder }, await eventNamed(finder, session, asked.name));
    case "memory":
      return originOfMemory({ runtime, finder }, await memoryNamed(runtime, session, asked.name));
    case "answer":
      return [step("wrote", answerWith(runtime, session, asked.name), runtime)];
    case "route":
      return [step("decided", await routeNamed(runtime, finder, session, asked.name), runtime)];
    default:
      return asked satisfies never;
  }
}

type Asked =
  | { readonly kind: "line"; readonly path: string; readonly line: number }
  | { readonly kind: "event" | "memory" | "answer" | "route"; readonly name: string };

function given(target: unknown): Asked {
  const say = 'give "path:line", { event }, { memory }, { answer } or { route }';
  if (typeof target === "string") {
    const [, path = "", line = ""] = /^(.+):([1-9]\d*)$/s.exec(target) ?? [];
    if (path === "") throw unsupported("target", `is ${JSON.stringify(target)}`, say);
    return { kind: "line", path, line: Number(line) };
  }
  const named = Object.entries((target ?? {}) as Record<string, unknown>).filter(([, name]) => name !== undefined);
  const [kind, name] = named[0] ?? [];
  if (named.length !== 1 || typeof name !== "string" || !(kind === "event" || kind === "memory" || kind === "answer" || kind === "route"))
    throw unsupported("target", "is none that can be asked about", say);
  return { kind, name };
}

function step(relation: Step["relation"], node: Node, { platform }: Runtime): Step {
  return { relation, node, words: wordsOf(node, platform) };
}

async function lineStarts(runtime: Runtime, finder: EventFinder, session: Session, path: string, line: number): Promise<readonly Step[]> {
  const { blame } = await import("./blame.ts");
  const lines = await blame(session, path);
  const written = lines[line - 1];
  if (written === undefined)
    throw new RathError("workspace.not-found", `${JSON.stringify(path)} has ${lines.length} lines: there is no line ${line}.`, { session });
  const node = (await finder.find(written.event.id, written.event.session)) as Node; // blame found it
  return [step("wrote", node, runtime)];
}

/** By its id or the beginning of one; whole ids are found in all of the store. */
async function eventNamed(finder: EventFinder, session: Session, name: string): Promise<Node> {
  const found = finder.startingWith(name);
  if (found.length > 1)
    throw new RathError("session.ambiguous-id", `${name} is the beginning of ${found.length} event ids: write more of it.`, { session });
  const node = found[0] ?? (/^[0-9a-f]{64}$/.test(name) ? await finder.find(name) : undefined);
  if (node === undefined) throw notFound(session, `There is no event ${name || "(empty id)"} behind session ${session.id}.`);
  return node;
}

/** The newest reply with these words on the line, else in work inside it. */
function answerWith({ platform }: Runtime, session: Session, phrase: string): Node {
  const { node } = placeOf(session);
  const state = stateOf(node);
  const said = (one: Node): boolean => {
    const text = one.kind === "model.returned" && !one.erased ? messageOf(one, platform).text : "";
    return text !== "" && text.includes(phrase);
  };
  const inside = (): readonly Node[] =>
    list(state.calls).flatMap(({ parents }) => parents.slice(1).flatMap((parent) => list(stateOf(parent).talk)));
  const found = list(state.talk).findLast(said) ?? inside().findLast(said);
  if (found !== undefined) return found;
  throw notFound(
    session,
    phrase === ""
      ? `No model has answered in session ${session.id}.`
      : `No answer in session ${session.id} contains ${JSON.stringify(phrase)}.`,
  );
}

async function routeNamed({ platform }: Runtime, finder: EventFinder, session: Session, name: string): Promise<Node> {
  const routes = list(stateOf(placeOf(session).node).routes);
  const found =
    routes.findLast((node) => routeOf(node, platform).choice === name) ??
    finder.startingWith(name).flatMap((node) => (routes.includes(node) ? node : (routes.find((route) => callOf(route) === node) ?? [])))[0];
  if (found !== undefined) return found;
  const choices = [...new Set(routes.map((node) => routeOf(node, platform).choice))];
  const there = choices.length === 0 ? "it has no routes" : `it chose ${choices.join(", ")}`;
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
  if (item === undefined) throw noMemory(name);
  return item;
}

function notFound(session: Session, message: string): RathError {
  return new RathError("session.not-found", message, { session });
}
