/** Who wrote each line of a file: the event that brought it in, on whichever branch, through merges and nested work. */
import { unread } from "../runtime/file-verbs.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { actedOf, treeOf } from "../session/acted.ts";
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import { callOf, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { blameOf, type Version } from "../workspace/blame.ts";
import { splitLines, textFrom } from "../workspace/lines.ts";
import { resolvePath } from "../workspace/path.ts";
import type { Trees } from "../workspace/tree.ts";

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
 * For each line of a file at this place, the event that wrote it.
 *
 * @example
 * for (const { line, text, event, call } of await blame(session, "src/a.ts"))
 *   console.log(line, event.by, session.calls.find(({ id }) => id === call)?.tool, text);
 */
export async function blame(session: Session, path: string): Promise<readonly BlameLine[]> {
  const runtime = runtimeOf(session);
  const { node } = placeOf(session);
  const { trees } = runtime.sandboxes;
  if (runtime.sandboxes.knownTreeAt(stateOf(node)) === undefined) return unread(path);
  const { path: real, entry } = await resolvePath(trees, session.files.hash, path);
  if (entry.type === "withheld" && entry.why === "erased")
    throw new RathError("event.erased", `The content of ${JSON.stringify(path)} was erased: it has no lines any more.`, { session });
  if (entry.type !== "file")
    throw new RathError("workspace.not-found", `${JSON.stringify(path)} is a ${entry.type}: only files have lines.`, { session });
  const versions = new Versions(trees, runtime.platform, real);
  const source = sourceOf(node) as Node; // where there are files there is one
  const text = textFrom(await trees.objects.get(entry.hash));
  if (text === undefined) throw new RathError("workspace.invalid", `${JSON.stringify(path)} is binary: only text has lines.`, { session });
  const newest = (await versions.at(source)) ?? { text, by: source };
  const lines = splitLines(text);
  return blameOf(newest).map((by, index) => ({
    line: index + 1,
    text: (lines[index] ?? "").replace(/\r?\n$/, ""),
    event: by.event(runtime.platform),
    call: by.kind === "tool.returned" ? callOf(by).id : undefined,
  }));
}

/** Where the files at a place come from: the newest event that left some, or the placement that named their directory. */
function sourceOf(place: Node | undefined): Node | undefined {
  if (place === undefined) return undefined;
  const { files, base } = stateOf(place);
  return files ?? base;
}

class Versions {
  readonly #trees: Trees;
  readonly #platform: Platform;
  readonly #path: string;
  readonly #known = new Map<Node, Version<Node> | undefined>();

  constructor(trees: Trees, platform: Platform, path: string) {
    this.#trees = trees;
    this.#platform = platform;
    this.#path = path;
  }

  /** The file as a source left it, and what it was made from. Parents first, without recursion: histories are long. */
  async at(source: Node | undefined): Promise<Version<Node> | undefined> {
    if (source === undefined) return undefined;
    const waiting = [source];
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      const missing = this.#known.has(next) ? [] : sourcesOf(next).filter((before) => !this.#known.has(before));
      if (missing.length > 0) waiting.push(...missing);
      else {
        waiting.pop();
        if (!this.#known.has(next)) this.#known.set(next, await this.#make(next));
      }
    }
    return this.#known.get(source);
  }

  async #make(source: Node): Promise<Version<Node> | undefined> {
    const parents = sourcesOf(source).flatMap((before) => this.#known.get(before) ?? []);
    const found = source.kind === "placement.changed" ? undefined : await this.#text(treeOf(source, this.#platform));
    if (found === undefined) return undefined;
    const before = parents.length === 0 ? await this.#found(source) : undefined;
    const behind = before === undefined ? parents : [before];
    return behind.find((version) => version.text === found) ?? { text: found, by: source, parents: behind };
  }

  /** What was in the directory when it was first used: the placement brought it. */
  async #found(source: Node): Promise<Version<Node> | undefined> {
    const { base } = stateOf(source);
    const text = base === undefined ? undefined : await this.#text(actedOf(source, this.#platform)?.before);
    return text === undefined ? undefined : { text, by: base as Node };
  }

  async #text(tree: string | undefined): Promise<string | undefined> {
    const entry = tree === undefined ? undefined : await this.#trees.entry(tree, this.#path);
    return entry?.type === "file" ? textFrom(await this.#trees.objects.get(entry.hash)) : undefined;
  }
}

/** Where the files before an event come from: its own line first, then what was merged into it or done inside it. */
function sourcesOf(source: Node): readonly Node[] {
  if (source.kind === "placement.changed") return [];
  return source.parents.flatMap((parent) => sourceOf(parent) ?? []).filter((before) => before.kind !== "placement.changed");
}
