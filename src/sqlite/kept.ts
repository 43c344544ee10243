/** Which file something is kept in. Apart from what opens files, so that asking costs nothing. */

/** Whose part of a file it is; "default" when left out. */
interface Scope {
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
}

const kept = new WeakMap<object, { readonly path: string; readonly scope: Scope }>();

/** Remembers in which file something is kept, and whose it is there. */
export function keptIn(thing: object, path: string, scope: Scope = {}): void {
  kept.set(thing, { path, scope });
}

/** The file something is kept in. */
export function pathOf(thing: object): string | undefined {
  return kept.get(thing)?.path;
}

/** Whose it is in that file. */
export function scopeIn(thing: object): Scope | undefined {
  return kept.get(thing)?.scope;
}
