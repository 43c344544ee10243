/**
 * What models say and tools report, from the process that executes a run to those where somebody follows it. Whoever follows says so,
 * again every few seconds; whoever executes then tells its parts, a few times a second. Anything may be lost: what is on record
 * follows, and whoever shows parts compares.
 */
import { randomUUID } from "node:crypto";
import type { StreamPart } from "../session/stream.ts";
import { hintsOf } from "./hints.ts";
import type { Runtime } from "./runtime.ts";

/** A part of a run elsewhere, and the call that it belongs to: once that has returned, the part is old. */
export type HearTold = (part: StreamPart, run: string, call: string) => void;

interface Listener {
  /** Runs and sessions it follows; undefined: all. */
  readonly names: () => readonly string[] | undefined;
  readonly hear: HearTold;
}

/** As it travels: who wants to hear of what, that somebody hears from now on, or what happened. */
type Words =
  | { readonly from: string; readonly here: true }
  | { readonly from: string; readonly want: readonly string[] | null }
  | { readonly from: string; readonly run: string; readonly parts: readonly (readonly [part: StreamPart, call: string])[] };

const wantEveryMs = 3000;
const wantedForMs = 10_000;
const tellEveryMs = 100;
/** What fits into one message of the store, with room for its envelope. */
const mostBytes = 6500;
const mostNames = 50;

const known = new WeakMap<Runtime, ToldParts>();

/** Of a Rath in this process. */
export function toldPartsOf(runtime: Runtime): ToldParts {
  const told = known.get(runtime) ?? new ToldParts(runtime);
  known.set(runtime, told);
  return told;
}

export class ToldParts {
  readonly #runtime: Runtime;
  readonly #from = randomUUID();
  readonly #listeners = new Set<Listener>();
  /** Until when somebody elsewhere wants to hear of a run or a session; "" stands for all. */
  readonly #wanted = new Map<string, number>();
  readonly #waiting = new Map<string, (readonly [StreamPart, string])[]>();
  #asking: NodeJS.Timeout | undefined;
  #telling: NodeJS.Timeout | undefined;
  #deaf: (() => void) | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    hintsOf(runtime).onWords(
      (words) => this.#take(words),
      () => this.#say({ from: this.#from, here: true }),
    );
  }

  /** Hears parts of runs that are executed elsewhere, until the function it was given back is called. */
  hear(names: Listener["names"], hear: HearTold): () => void {
    const listener = { names, hear };
    this.#listeners.add(listener);
    // Hearing needs somebody who listens to the store.
    const unlisten = hintsOf(this.#runtime).listen(() => {});
    this.#ask();
    this.#asking ??= setInterval(() => this.#ask(), wantEveryMs).unref();
    return () => {
      unlisten();
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#asking);
      this.#asking = undefined;
    };
  }

  #ask(): void {
    const names = [...this.#listeners].map((listener) => listener.names());
    const all = names.some((some) => some === undefined);
    const want = all ? null : [...new Set(names.flatMap((some) => some ?? []))];
    if (names.length > 0 && want?.length !== 0)
      this.#say({ from: this.#from, want: want === null || want.length > mostNames ? null : want });
  }

  #take(given: unknown): void {
    const words = given as Partial<Words> | null;
    if (typeof words !== "object" || words === null || words.from === this.#from) return;
    if ("here" in words) this.#ask();
    else if ("want" in words) this.#want(words.want);
    else if ("parts" in words && typeof words.run === "string" && Array.isArray(words.parts)) this.#heard(words.run, words.parts);
  }

  #heard(run: string, parts: readonly unknown[]): void {
    for (const told of parts) {
      const [part, call] = (Array.isArray(told) ? told : []) as [Partial<StreamPart>?, string?];
      // Everybody who may connect to the database may say anything.
      if (typeof call !== "string" || !isLive(part)) continue;
      for (const { names, hear } of [...this.#listeners]) {
        const wanted = names();
        if (wanted === undefined || wanted.includes(run) || wanted.includes(part.session)) hear(part, run, call);
      }
    }
  }

  // ── where runs are executed ──

  #want(want: unknown): void {
    const until = Date.now() + wantedForMs;
    const names = want === null ? [""] : Array.isArray(want) ? want.slice(0, mostNames) : [];
    for (const name of names) if (typeof name === "string") this.#wanted.set(name, until);
    this.#deaf ??= this.#runtime.live.hear((part, run, call) => {
      if (call !== undefined && isLive(part) && this.#isWanted(part, run)) this.#add(part, run, call);
    });
  }

  #isWanted({ session }: StreamPart, run: string): boolean {
    const now = Date.now();
    for (const [name, until] of this.#wanted) if (until < now) this.#wanted.delete(name);
    if (this.#wanted.size === 0) {
      this.#deaf?.();
      this.#deaf = undefined;
    }
    return this.#wanted.has("") || this.#wanted.has(run) || this.#wanted.has(session);
  }

  #add(part: StreamPart, run: string, call: string): void {
    const parts = this.#waiting.get(run) ?? [];
    this.#waiting.set(run, parts);
    const [last, itsCall] = parts.at(-1) ?? [];
    // Words of one reply are joined: a model says a hundred of them a second.
    if (last?.type === part.type && itsCall === call && "text" in last && "text" in part && !("restart" in part && part.restart))
      parts[parts.length - 1] = [{ ...last, text: last.text + part.text }, call];
    else parts.push([part, call]);
    this.#telling ??= setTimeout(() => this.#tell(), tellEveryMs).unref();
  }

  #tell(): void {
    this.#telling = undefined;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const [run, parts] of all) for (const some of batches(parts)) this.#say({ from: this.#from, run, parts: some });
  }

  #say(words: Words): void {
    void this.#runtime
      .store()
      .then((store) => store.tell?.(words))
      .catch(() => {}); // it may be lost
  }
}

/** Parts that are on no record. */
function isLive(part: Partial<StreamPart> | undefined): part is StreamPart {
  if (typeof part?.session !== "string" || typeof part.by !== "string") return false;
  if (part.type === "text-delta" || part.type === "reasoning-delta") return typeof (part as { text?: unknown }).text === "string";
  return part.type === "tool-progress";
}

/** As many in one message as fit; what does not fit alone is left out. */
function batches<T>(parts: readonly T[]): T[][] {
  const made: T[][] = [[]];
  let bytes = 0;
  for (const part of parts) {
    const size = Buffer.byteLength(JSON.stringify(part));
    if (size > mostBytes) continue;
    if (bytes + size > mostBytes) {
      made.push([]);
      bytes = 0;
    }
    made.at(-1)?.push(part);
    bytes += size + 1;
  }
  return made.filter((some) => some.length > 0);
}
