/** More about the rows on screen than lists say: asked for one after the other, and again when a row has changed. */
import { useCallback, useEffect, useSyncExternalStore } from "react";

interface Question<Row, More> {
  readonly idOf: (row: Row) => string;
  /** As long as this is the same, what is known of the row is true. */
  readonly stateOf: (row: Row) => string;
  readonly ask: (row: Row) => Promise<More | undefined>;
}

const kept = 2000;
/** Between two questions: a list that is scrolled through is no flood. */
const pauseMs = 25;

export class AskedOfRows<Row, More> {
  readonly #question: Question<Row, More>;
  readonly #known = new Map<string, { readonly state: string; readonly more: More | undefined }>();
  readonly #listeners = new Set<() => void>();
  readonly #doubted = new Set<string>();
  #wanted: readonly Row[] = [];
  #asking = false;
  version = 0;

  constructor(question: Question<Row, More>) {
    this.#question = question;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  of(row: Row): More | undefined {
    return this.#known.get(this.#question.idOf(row))?.more;
  }

  /** The newest wish counts: what was scrolled past is not asked for any more. */
  want(rows: readonly Row[]): void {
    this.#wanted = rows;
    if (!this.#asking) void this.#ask();
  }

  /** Something happened to them: what is known of them may not be true any more. */
  doubt(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, state: "" });
    }
    for (const row of this.#wanted) if (ids.has(this.#question.idOf(row))) this.#doubted.add(this.#question.idOf(row));
    this.want(this.#wanted);
  }

  async #ask(): Promise<void> {
    const { idOf, stateOf, ask } = this.#question;
    this.#asking = true;
    for (let row = this.#next(); row !== undefined; row = this.#next()) {
      const id = idOf(row);
      this.#doubted.delete(id);
      const more = await ask(row).catch(() => this.#known.get(id)?.more);
      this.#known.delete(id);
      // Something happened while it was asked: it is asked again.
      this.#known.set(id, { state: this.#doubted.has(id) ? "" : stateOf(row), more });
      for (const oldest of this.#known.keys()) if (this.#known.size > kept) this.#known.delete(oldest);
      this.version++;
      for (const listener of this.#listeners) listener();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#asking = false;
  }

  #next(): Row | undefined {
    const { idOf, stateOf } = this.#question;
    return this.#wanted.find((row) => this.#known.get(idOf(row))?.state !== stateOf(row));
  }
}

/** What is known, as it comes; `see` says which rows are on screen. */
export function useAsked<Row, More>(asked: AskedOfRows<Row, More>) {
  const version = useSyncExternalStore(asked.subscribe, () => asked.version);
  useEffect(() => () => asked.want([]), [asked]);
  const see = useCallback((rows: readonly Row[]) => asked.want(rows), [asked]);
  const doubt = useCallback((ids: ReadonlySet<string>) => asked.doubt(ids), [asked]);
  return { of: (row: Row) => asked.of(row), see, doubt, version };
}
