/**
 * What becomes of files that are imported together: which session continues which. A session that repeats what its parent said is a
 * fork of it, one that repeats several is their merge, and neither repeats anything. Where the files do not bear that out, or the
 * parents are elsewhere, a session stands by itself and only names them.
 */
import { derivedUuid } from "../../session/id.ts";
import type { Platform } from "../../session/platform.ts";
import { type V1Chunk, type V1File, v1 } from "./v1-read.ts";

/** How a session begins: after so many pieces of its parent's, with others merged into it, or by itself. */
interface Base {
  readonly parent: Planned;
  /** How many pieces it has from its parent, and how many more from those that were merged. */
  readonly shared: number;
  readonly merged: readonly Planned[];
  readonly skipped: number;
}

/** A file and the session it becomes. */
export interface Planned {
  readonly file: V1File;
  readonly session: string;
  /** The pieces that are its own. */
  readonly chunks: readonly V1Chunk[];
  readonly base: Base | undefined;
}

/** Parents first. */
export function planned(platform: Platform, files: readonly V1File[]): readonly Planned[] {
  const plans = new Map<string, Planned>();
  for (const file of parentsFirst(files)) {
    const base = baseOf(file, plans);
    const around = base === undefined ? [] : [base.parent, ...base.merged].map((plan) => plan.session);
    const taken = base === undefined ? 0 : base.shared + base.skipped;
    plans.set(file.header.id, {
      file,
      session: derivedUuid(platform, ["import", v1, file.digest, ...around]),
      chunks: taken === 0 ? file.chunks : file.chunks.slice(taken),
      base,
    });
  }
  return [...plans.values()];
}

export function parentIds({ header }: V1File): readonly string[] {
  return header.parent_session_ids ?? [];
}

/** In the order given, each after its parents; files that name each other in a circle as they come. */
function parentsFirst(files: readonly V1File[]): readonly V1File[] {
  const byId = new Map(files.map((file) => [file.header.id, file]));
  const ordered = new Set<V1File>();
  const begun = new Set<V1File>();
  for (const first of files) {
    const waiting = [first];
    for (let file = waiting.at(-1); file !== undefined; file = waiting.at(-1)) {
      const missing = begun.has(file)
        ? []
        : parentIds(file).flatMap((id) => {
            const parent = byId.get(id);
            return parent === undefined || begun.has(parent) ? [] : [parent];
          });
      begun.add(file);
      if (missing.length > 0) for (const parent of missing) waiting.push(parent);
      else {
        waiting.pop();
        ordered.add(file);
      }
    }
  }
  return [...ordered];
}

function baseOf(file: V1File, plans: ReadonlyMap<string, Planned>): Base | undefined {
  const ids = [...new Set(parentIds(file))];
  const parents = ids.flatMap((id) => plans.get(id) ?? []);
  const [parent, ...others] = parents;
  if (parent === undefined || parents.length < ids.length) return undefined;
  const shared = common(file.chunks, parent.file.chunks, 0);
  // Equal instructions alone do not make a fork.
  if (!file.chunks.slice(0, shared).some(({ kind }) => kind !== "system")) return undefined;
  if (others.length === 0) return exactPlace(parent, shared) === undefined ? undefined : { parent, shared, merged: [], skipped: 0 };
  return shared === parent.file.chunks.length ? mergeOf(file, parent, others) : undefined;
}

/** Whose own piece is the last of the first so many, and how many of its own that are; undefined inside what was merged. */
export function exactPlace(plan: Planned, pieces: number): { readonly plan: Planned; readonly own: number } | undefined {
  for (let at = plan; ; at = (at.base as Base).parent) {
    const { base } = at;
    const taken = base === undefined ? 0 : base.shared + base.skipped;
    if (pieces >= taken) return { plan: at, own: pieces - taken };
    if (pieces > (base as Base).shared) return undefined;
  }
}

/** The file of a merge has what its parents have one after the other; what they have in common perhaps again each time. */
function mergeOf(file: V1File, parent: Planned, others: readonly Planned[]): Base | undefined {
  const shared = parent.file.chunks.length;
  let at = shared;
  for (const { file: other } of others) {
    const again = common(other.chunks, parent.file.chunks, 0);
    const whole = startsWith(file.chunks, at, other.chunks, 0);
    if (!whole && !startsWith(file.chunks, at, other.chunks, again)) return undefined;
    at += other.chunks.length - (whole ? 0 : again);
  }
  return { parent, shared, merged: others, skipped: at - shared };
}

function common(a: readonly V1Chunk[], b: readonly V1Chunk[], from: number): number {
  let length = from;
  while (length < a.length && length < b.length && a[length]?.same === b[length]?.same) length++;
  return length;
}

function startsWith(all: readonly V1Chunk[], at: number, part: readonly V1Chunk[], from: number): boolean {
  for (let index = from; index < part.length; index++) if (all[at + index - from]?.same !== part[index]?.same) return false;
  return true;
}
