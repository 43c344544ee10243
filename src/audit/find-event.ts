/** Finds events by their ids: behind a place, and in other sessions of the store. Looks at what is asked for and no further. */
import { fetchBlobs, fromStored } from "../runtime/load.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import { isReturned } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import { answerLogId } from "../session/id.ts";
import { ancestorsOf, Log, type Node } from "../session/log.ts";
import type { StoredEvent } from "../store/store.ts";

export class EventFinder {
  readonly #runtime: Runtime;
  readonly #place: Node | undefined;
  readonly #known = new Map<string, Node>();
  #logs: ReadonlyMap<Log, number> | undefined;
  #byId: ReadonlyMap<string, Log> | undefined;
  /** By log: the results found so far, from its newest event back. */
  readonly #results = new Map<Log, { readonly found: Map<Node, Node>; next: Node | undefined }>();

  constructor(runtime: Runtime, place?: Node) {
    this.#runtime = runtime;
    this.#place = place;
  }

  /** Everything behind the place and behind the sessions it was detached from, log by log, each from its newest event back. */
  *behind(): Generator<Node> {
    for (const [log, newest] of this.#logsBehind()) {
      let node = log.tip;
      while (node !== undefined && node.seq > newest) node = node.prior;
      for (; node !== undefined; node = node.prior) yield node;
    }
  }

  /** The logs behind the place, each with the position of its newest event that counts. */
  #logsBehind(): ReadonlyMap<Log, number> {
    if (this.#logs !== undefined) return this.#logs;
    const logs = new Map<Log, number>();
    const waiting = this.#place === undefined ? [] : [this.#place];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      for (const { key: log, newest } of ancestorsOf(next)) {
        if (log.origin !== undefined && !logs.has(log)) waiting.push(log.origin);
        logs.set(log, Math.max(newest, logs.get(log) ?? -1));
      }
    this.#logs = logs;
    return logs;
  }

  /** What lies behind the place and begins like this. */
  startingWith(beginning: string): readonly Node[] {
    const found: Node[] = [];
    if (beginning !== "") for (const node of this.behind()) if (node.id.startsWith(beginning)) found.push(node);
    return found;
  }

  /** An event by its whole id; undefined when it is not in this store. */
  async find(id: string): Promise<Node | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const node = (await this.#stored(id)) ?? this.#unstored(id);
    if (node !== undefined) this.#known.set(id, node);
    return node;
  }

  async #stored(id: string): Promise<Node | undefined> {
    const row = await this.#row(id);
    if (row === undefined) return undefined;
    this.#byId ??= new Map([...this.#logsBehind().keys()].map((log) => [log.id, log]));
    const behind = this.#byId.get(row.session);
    return (behind && inLog(behind, row)) ?? inLog(await this.#load(row.session), row);
  }

  async #row(id: string): Promise<StoredEvent | undefined> {
    for await (const event of (await this.#runtime.store()).events({ ids: [id] })) return event;
    return undefined;
  }

  /** What was said and not done yet is in memory alone. */
  #unstored(id: string): Node | undefined {
    for (const node of this.behind()) if (!node.stored && node.id === id) return node;
    return undefined;
  }

  async #load(session: string): Promise<Log | undefined> {
    try {
      return (await this.#runtime.load([session])).get(session);
    } catch (error) {
      if (RathError.is(error, "session.not-found")) return undefined; // it was never imported here
      throw error;
    }
  }

  /** The answer to what waited. */
  async answerTo(question: Node): Promise<Node | undefined> {
    const { platform } = this.#runtime;
    const store = await this.#runtime.store();
    for await (const event of store.events({ session: answerLogId(platform, question.id) })) {
      const node = fromStored(platform, event, new Log(event.session, "answer"), []);
      await fetchBlobs(platform, store, [node]);
      this.#known.set(node.id, node);
      return node;
    }
    return undefined;
  }

  /** What a call came to, in its own log. */
  resultOf(call: Node): Node | undefined {
    let results = this.#results.get(call.log);
    if (results === undefined) {
      results = { found: new Map(), next: call.log.tip };
      this.#results.set(call.log, results);
    }
    const { found } = results;
    for (let node = results.next; node !== undefined && node.seq > call.seq && !found.has(call); node = results.next) {
      if (isReturned(node.kind)) found.set(callOf(node), node);
      results.next = node.prior;
    }
    return found.get(call);
  }
}

/** An event of a log: mostly the one at its step of the line. */
function inLog(log: Log | undefined, { id, step }: StoredEvent): Node | undefined {
  let node = log?.tip?.atStep(step);
  if (node?.id === id) return node;
  for (node = log?.tip; node !== undefined && node.step >= step; node = node.prior) if (node.id === id) return node;
  return undefined;
}
