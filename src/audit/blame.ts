/** Who wrote each line of a file: the event that brought it in, on whichever branch, through merges and nested work. */
import { unread } from "../runtime/file-verbs.ts";
import { runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import { callOf, stateOf } from "../session/fold.ts";
import { givenOptions } from "../session/given.ts";
import type { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { shortEvent } from "../wire/format.ts";
import { blameOf } from "../workspace/blame.ts";
import { isInGit } from "../workspace/git-folder.ts";
import { splitLines, textFrom } from "../workspace/lines.ts";
import { resolvePath } from "../workspace/path.ts";
import type { Trees } from "../workspace/tree.ts";
import type { AskOptions } from "./ask-options.ts";
import { FileVersions, sourceOf, type Written } from "./file-versions.ts";

/** A line of a file and the event that wrote it. */
export interface BlameLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  /** The effect or merge that wrote it, or the placement, for what was in the directory before. */
  readonly event: Event;
  /** When a tool wrote it: the id of the call, as `session.calls` has it. */
  readonly call: string | undefined;
}

/**
 * For each line of a file at this place, the event that wrote it. Rejects with `workspace.not-found` when there is no such file, and
 * says who removed it and which paths are like it; with `workspace.invalid` when it is no text, and says who wrote it.
 *
 * @example
 * for (const { line, text, event, call } of await blame(session, "src/a.ts"))
 *   console.log(line, event.by, session.calls.find(({ id }) => id === call)?.tool, text);
 */
export async function blame(session: Session, path: string, options: AskOptions = {}): Promise<readonly BlameLine[]> {
  const runtime = runtimeOf(session);
  const { signal } = givenOptions(options, ["signal"], "blame");
  const { lines } = await writtenLines(runtime, placeOf(session).node, path, { session, signal });
  return lines.map(({ text, by: { node } }, index) => ({
    line: index + 1,
    text,
    event: node.event(runtime.platform),
    call: node.kind === "tool.returned" ? callOf(node).id : undefined,
  }));
}

/** The lines of a file at a place, and its real path. */
export async function writtenLines(
  runtime: Runtime,
  place: Node,
  path: string,
  { session, signal }: { readonly session?: Session | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<{ readonly path: string; readonly lines: readonly { readonly text: string; readonly by: Written }[] }> {
  const { trees } = runtime.sandboxes;
  const tree = runtime.sandboxes.knownTreeAt(stateOf(place));
  const source = sourceOf(place);
  if (tree === undefined) return unread(path);
  const { path: real, entry } = await resolvePath(trees, tree, path).catch((error: unknown) => {
    if (!RathError.is(error, "workspace.not-found")) throw error;
    return missing(runtime, source, tree, path, error, session);
  });
  if (entry.type === "withheld" && entry.why === "erased")
    throw new RathError("event.erased", `The content of ${JSON.stringify(path)} was erased: it has no lines any more.`, { session });
  if (entry.type !== "file")
    throw new RathError("workspace.not-found", `${JSON.stringify(path)} is a ${entry.type}: only files have lines.`, { session });
  const versions = new FileVersions(trees, runtime.platform, real, signal);
  const text = textFrom(await trees.objects.get(entry.hash));
  if (text === undefined || source === undefined) {
    const by = source === undefined ? undefined : await versions.newestChange(source);
    const who = by === undefined ? "" : ` It was written by ${named(by)}.`;
    throw new RathError("workspace.invalid", `${JSON.stringify(path)} is binary: only text has lines.${who}`, {
      session,
      details: { path: real, ...(by === undefined ? {} : { event: by.id }) },
    });
  }
  const found: Written = { node: source, before: undefined, after: entry.hash, trees: { before: undefined, after: tree } };
  const authors = blameOf((await versions.at(source)) ?? { text, by: found });
  const lines = splitLines(text);
  return { path: real, lines: authors.map((by, index) => ({ text: (lines[index] ?? "").replace(/\r?\n$/, ""), by })) };
}

function named({ id, kind, step, by }: Node): string {
  return `event ${shortEvent(id)} (${kind} of ${by}, step ${step})`;
}

/** Rejects: says who took it away, else which paths there are like it. */
async function missing(
  runtime: Runtime,
  source: Node | undefined,
  tree: string,
  path: string,
  error: RathError,
  session: Session | undefined,
): Promise<never> {
  const { trees } = runtime.sandboxes;
  const by = source === undefined ? undefined : await new FileVersions(trees, runtime.platform, path).newestChange(source);
  const alike = by === undefined ? await pathsLike(trees, tree, path) : [];
  const more =
    by !== undefined
      ? ` It was removed by ${named(by)}: look at a step before that.`
      : alike.length > 0
        ? ` There is ${alike.map((one) => JSON.stringify(one)).join(", ")}.`
        : "";
  throw new RathError("workspace.not-found", `${error.message}${more}`, { session, cause: error, details: { path, alike } });
}

const mostLooked = 10_000;
const mostShown = 5;

/** Files with the same name, then those with a like one. */
async function pathsLike(trees: Trees, tree: string, path: string): Promise<readonly string[]> {
  const name = (one: string): string => one.slice(one.lastIndexOf("/") + 1).toLowerCase();
  const stem = (one: string): string => name(one).replace(/\.[^.]*$/, "");
  const wanted = [name(path), stem(path), name(path).slice(0, 1)] as const;
  const found: { readonly path: string; readonly score: number }[] = [];
  let looked = 0;
  for await (const { path: one, entry } of trees.walk(tree)) {
    if (isInGit(one)) continue;
    if (looked++ >= mostLooked) break;
    const score = [name(one), stem(one), name(one).slice(0, 1)].findIndex((part, index) => part === wanted[index]);
    if (entry.type === "file" && score >= 0) found.push({ path: one, score });
  }
  return found
    .sort((a, b) => a.score - b.score)
    .slice(0, mostShown)
    .map((one) => one.path);
}
