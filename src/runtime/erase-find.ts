/**
 * Finds what an erasure is about: the events, by id, by session, by person, by tag or by the words they hold, with all that belongs to
 * them alone. Reads each event of its scope once.
 */
import type { MemoryRecord, MemoryStore } from "../memory/memory.ts";
import { dataText } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { EventKind } from "../session/event.ts";
import { answerLogId } from "../session/id.ts";
import { blobsIn, treesIn } from "../session/json.ts";
import type { Platform } from "../session/platform.ts";
import { versionName } from "../session/remembered.ts";
import type { LogRow, Store, StoredEvent } from "../store/store.ts";
import { decodeDirectory, emptyTree } from "../workspace/tree.ts";
import { Words } from "./erase-words.ts";

/** What is to be erased, resolved to ids. */
export interface Wanted {
  readonly sessions?: readonly string[] | undefined;
  readonly events?: readonly string[] | undefined;
  readonly principal?: string | undefined;
  readonly tag?: string | undefined;
  readonly memories?: readonly string[] | undefined;
  readonly matching?: string | undefined;
}

/** Something that still holds, names or tells what was erased. */
export interface Left {
  readonly what: "event" | "blob" | "memory" | "tree" | "run" | "session" | "table";
  /** Its id, its hash, the name of a version, or names of tables. */
  readonly id: string;
  readonly why: string;
}

export interface Found {
  readonly events: ReadonlySet<string>;
  /** Contents that hold the words, each with a path it was found at: they go though trees name them. */
  readonly files: ReadonlyMap<string, string>;
  readonly memories: readonly MemoryRecord[];
  readonly words: Words | undefined;
  readonly left: readonly Left[];
}

/**
 * What says how events hang together, is proof of it, or says what is gone: it stays, so that what is left can be read and verified. Names
 * in it are the program's; those of forks are in the ids of sessions anyway.
 */
export const lasting: ReadonlySet<EventKind> = new Set<EventKind>([
  "session.forked",
  "session.detached",
  "workflow.left",
  "tool.started",
  "do.started",
  "run.started",
  "run.resumed",
  "run.spawned",
  "run.asked",
  "run.forked",
  "run.parked",
  "run.signed",
  "data.erased",
]);

/** Whoever knows the rest of so short a content tries what it may have been. */
const guessableBytes = 32;

export class Finding implements Found {
  readonly events = new Set<string>();
  readonly files = new Map<string, string>();
  /** Of those, contents so short that they can be guessed from their hash. */
  readonly guessable = new Map<string, number>();
  readonly left: Left[] = [];
  readonly words: Words | undefined;
  memories: readonly MemoryRecord[] = [];
  readonly #platform: Platform;
  readonly #store: Store;
  readonly #wanted: Wanted;
  readonly #rows = new Map<string, LogRow>();
  readonly #children = new Map<string, LogRow[]>();
  /** Logs that were searched. */
  readonly #looked = new Set<string>();
  readonly #holding = new Map<string, boolean>();
  readonly #directories = new Set<string>([emptyTree]);

  constructor(platform: Platform, store: Store, wanted: Wanted) {
    this.#platform = platform;
    this.#store = store;
    this.#wanted = wanted;
    this.words = wanted.matching === undefined ? undefined : new Words(wanted.matching);
  }

  async find(memory: () => Promise<MemoryStore>): Promise<this> {
    const { sessions, events, principal, tag, matching } = this.#wanted;
    for await (const row of this.#store.sessions({})) {
      this.#rows.set(row.id, row);
      if (row.parent !== undefined) this.#children.set(row.parent, [...(this.#children.get(row.parent) ?? []), row]);
    }
    for await (const { id } of this.#store.events({ ids: events ?? [] })) this.events.add(id);
    const roots = new Set(sessions);
    for (const row of this.#rows.values())
      if (
        row.log === "session" &&
        ((principal !== undefined && this.#of(row, "principal", principal)) || (tag !== undefined && this.#of(row, "tags", tag)))
      )
        roots.add(row.id);
    if (roots.size > 0) await this.#takeSessions(roots);
    else if (matching !== undefined) for (const row of this.#rows.values()) if (row.log !== "erasure") await this.#takeLog(row.id);
    if (this.words !== undefined) await this.#searchKeys(this.words);
    await this.#takeMemories(await memory());
    return this;
  }

  /** What a memory store cannot remove is left, and said to be; asking for nothing else is refused. */
  async #takeMemories(memory: MemoryStore): Promise<void> {
    const memories = await this.#findMemories(memory, new Set(this.#wanted.memories), this.left);
    if (memory.erase !== undefined) this.memories = memories;
    else if (this.#wanted.memories !== undefined)
      throw new RathError("erase.unsupported", "This memory store cannot erase anything: it has no erase.");
    else
      for (const record of memories)
        this.left.push({ what: "memory", id: versionName(record), why: "this memory store cannot erase: remove it there" });
  }

  /** What was remembered after the look, and would have gone too. */
  async rememberedMeanwhile(memory: MemoryStore): Promise<readonly Left[]> {
    if (memory.erase === undefined) return [];
    const names = [...(this.#wanted.memories ?? []), ...this.memories.map(versionName)];
    const since = await this.#findMemories(memory, new Set(names), []);
    return since.map((record) => ({ what: "memory", id: versionName(record), why: "it was written meanwhile: erase once more" }));
  }

  /** A fork belongs to whom its source belongs, and has its tags. */
  #of(row: LogRow, field: "principal" | "tags", wanted: string): boolean {
    for (let at: LogRow | undefined = row; at !== undefined; at = at.parent === undefined ? undefined : this.#rows.get(at.parent)) {
      if (field === "tags" ? at.tags?.includes(wanted) === true : at.principal === wanted) return true;
      if (field === "principal" && at.principal !== undefined) return false;
    }
    return false;
  }

  /** Sessions with what belongs to them alone: nested work, answers to what they asked, runs that wrote nowhere else, and signals to those. */
  async #takeSessions(roots: ReadonlySet<string>): Promise<void> {
    const logs = new Set(roots);
    const runs = new Set<string>();
    // Grows while it is walked.
    for (const log of logs) {
      for await (const { id, run } of this.#store.events({ session: log })) {
        this.#addAnswer(logs, id);
        if (run !== undefined) runs.add(run);
      }
      for (const child of await this.#nestedIn(log)) logs.add(child);
    }
    const owned = new Set<string>();
    for (const run of runs) if (await this.#wroteOnlyTo(run, logs)) owned.add(run);
    for (const run of owned) {
      logs.add(run);
      for await (const { id } of this.#store.events({ session: run })) this.#addAnswer(logs, id);
    }
    if (owned.size > 0) for (const box of await this.#mailboxesOf(owned)) logs.add(box);
    for (const log of logs) await this.#takeLog(log);
    if (this.words === undefined) for (const run of runs) if (!logs.has(run)) await this.#takeCaptures(run);
  }

  #addAnswer(logs: Set<string>, question: string): void {
    const answer = answerLogId(this.#platform, question);
    if (this.#rows.has(answer)) logs.add(answer);
  }

  async #nestedIn(log: string): Promise<readonly string[]> {
    const nested: string[] = [];
    for (const row of this.#children.get(log) ?? []) {
      for await (const { data } of this.#store.events({ session: row.id })) {
        if (data !== undefined && dataText(this.#platform, data).includes('"nested":true')) nested.push(row.id);
        break;
      }
    }
    return nested;
  }

  async #wroteOnlyTo(run: string, logs: ReadonlySet<string>): Promise<boolean> {
    if (this.#rows.get(run)?.log !== "run") return false;
    for await (const row of this.#store.sessions({ run, log: "session" })) if (!logs.has(row.id)) return false;
    return true;
  }

  async #mailboxesOf(runs: ReadonlySet<string>): Promise<readonly string[]> {
    const boxes: string[] = [];
    for (const { id, log } of this.#rows.values()) {
      if (log !== "answer") continue;
      for await (const { data } of this.#store.events({ session: id })) {
        const { run } = data === undefined ? {} : (JSON.parse(dataText(this.#platform, data)) as { readonly run?: string });
        if (run !== undefined && runs.has(run)) boxes.push(id);
        break;
      }
    }
    return boxes;
  }

  /** The files that were found where these sessions are placed are named by runs that others share. */
  async #takeCaptures(run: string): Promise<void> {
    for await (const event of this.#store.events({ session: run })) {
      if (event.data === undefined || kindOf(this.#platform, event) !== "workspace.captured") continue;
      const { placement } = JSON.parse(dataText(this.#platform, event.data)) as { readonly placement?: string };
      if (placement !== undefined && this.events.has(placement)) this.events.add(event.id);
    }
  }

  /** What a run was started with stays, and its key with it. */
  async #searchKeys(words: Words): Promise<void> {
    for await (const { id, key, session } of this.#store.runs({}))
      if (words.isIn(key) && (this.#looked.has(session) || this.#looked.has(id)))
        this.left.push({ what: "run", id, why: "its key holds the text, and stays until retention lets the whole run go" });
  }

  async #takeLog(log: string): Promise<void> {
    this.#looked.add(log);
    let first: string | undefined;
    for await (const event of this.#store.events({ session: log })) {
      first ??= event.id;
      const stays = lasting.has(kindOf(this.#platform, event));
      if (this.words === undefined ? stays || event.data === undefined : !(await this.#matches(event, this.words))) continue;
      if (!stays) this.events.add(event.id);
      else this.left.push({ what: "event", id: event.id, why: "it says how sessions and runs hang together, and stays" });
    }
    const row = this.#rows.get(log);
    if (this.words?.isIn(row?.title) === true && !this.events.has(first ?? ""))
      this.left.push({ what: "session", id: log, why: "its title, taken over from another session, holds the text" });
    if (this.words?.isIn(row?.principal) === true)
      this.left.push({ what: "session", id: log, why: "the person it belongs to is named so" });
  }

  async #matches(event: StoredEvent, words: Words): Promise<boolean> {
    const { by } = JSON.parse(this.#platform.text(event.envelope)) as { readonly by: string };
    if (words.isIn(by)) this.left.push({ what: "event", id: event.id, why: "it names who did it so, which is part of its id" });
    if (event.data === undefined) return false;
    const text = dataText(this.#platform, event.data);
    for (const tree of treesIn(text)) await this.#searchTree(tree, words);
    if (words.isInData(text)) return true;
    for (const blob of blobsIn(text)) if (await this.#holds(blob, words)) return true;
    return false;
  }

  /** Without recursion: a tree may be deeper than the call stack. */
  async #searchTree(root: string, words: Words): Promise<void> {
    const waiting = [{ name: root, under: "" }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (this.#directories.has(next.name)) continue;
      this.#directories.add(next.name);
      const bytes = await this.#store.blob(next.name);
      if (bytes === undefined) continue; // the survey refuses what must not be missing
      for (const [name, entry] of decodeDirectory(bytes)) {
        const path = next.under === "" ? name : `${next.under}/${name}`;
        if (words.isIn(name) || (entry.type === "link" && words.isIn(entry.target)))
          this.left.push({ what: "tree", id: next.name, why: "a name in this directory holds the text" });
        if (entry.type === "directory") waiting.push({ name: entry.hash, under: path });
        else if (entry.type === "file" && (await this.#holds(entry.hash, words))) {
          this.files.set(entry.hash, path);
          if (entry.size < guessableBytes) this.guessable.set(entry.hash, entry.size);
        }
      }
    }
  }

  async #holds(blob: string, words: Words): Promise<boolean> {
    const known = this.#holding.get(blob);
    if (known !== undefined) return known;
    const bytes = await this.#store.blob(blob);
    const holds = bytes !== undefined && words.isInBytes(bytes);
    this.#holding.set(blob, holds);
    return holds;
  }

  /** In the order of their writes, so that what was made of one comes after it: `names` grows by what is found. */
  async #findMemories(memory: MemoryStore, names: Set<string>, left: Left[]): Promise<readonly MemoryRecord[]> {
    const { matching, sessions } = this.#wanted;
    const found: MemoryRecord[] = [];
    for await (const record of memory.list({ asOf: "all" })) {
      const named = names.has(record.uri) || names.has(versionName(record));
      const holds = this.words !== undefined && isIn(record, this.words);
      const ours = matching === undefined ? this.#madeOf(record, names) : sessions === undefined || this.#madeOf(record, names);
      if (record.erased === undefined && (named || (matching === undefined ? ours : holds && ours))) {
        found.push(record);
        names.add(versionName(record));
        if (this.words?.isIn(record.uri) === true) left.push({ what: "memory", id: versionName(record), why: "its name holds the text" });
      } else if (record.erased === undefined && holds) left.push({ what: "memory", id: versionName(record), why: "it holds the text too" });
    }
    return found;
  }

  #madeOf({ event, because, from }: MemoryRecord, names: ReadonlySet<string>): boolean {
    return this.events.has(event) || because.some((one) => this.events.has(one)) || from.some((one) => names.has(one));
  }
}

function isIn({ content, value, reason, key }: MemoryRecord, words: Words): boolean {
  return [content, reason, key].some((text) => words.isIn(text)) || (value !== undefined && words.isInData(JSON.stringify(value)));
}

export function kindOf(platform: Platform, event: StoredEvent): EventKind {
  return (JSON.parse(platform.text(event.envelope)) as { readonly kind: EventKind }).kind;
}
