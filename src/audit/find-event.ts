/** Finds events by their ids: behind a place, and in other sessions of the store. */
import { fetchBlobs, fromStored } from "../runtime/load.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import { isReturned } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import { answerLogId } from "../session/id.ts";
import { history, Log, type Node } from "../session/log.ts";

export class EventFinder {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, Node>();
  readonly #read = new Set<Log>();
  readonly #results = new Map<Log, ReadonlyMap<Node, Node>>();

  constructor(runtime: Runtime, place?: Node) {
    this.#runtime = runtime;
    if (place !== undefined) this.#take(place);
  }

  /** Knows everything behind a place, and behind the sessions it was detached from. */
  #take(place: Node): void {
    const waiting = [place];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      for (const node of history(next)) {
        this.#known.set(node.id, node);
        const { log } = node;
        if (log.origin === undefined || this.#read.has(log)) continue;
        this.#read.add(log);
        waiting.push(log.origin);
      }
  }

  /** What is known so far and begins like this. */
  startingWith(beginning: string): readonly Node[] {
    const whole = this.#known.get(beginning);
    if (whole !== undefined) return [whole];
    return beginning === "" ? [] : [...this.#known.values()].filter(({ id }) => id.startsWith(beginning));
  }

  /** An event by its whole id; undefined when it is not in this store. */
  async find(id: string, session?: string): Promise<Node | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const place = session ?? (await this.#sessionOf(id));
    const log = place === undefined ? undefined : await this.#load(place);
    if (log?.tip !== undefined) this.#take(log.tip);
    return this.#known.get(id);
  }

  async #sessionOf(id: string): Promise<string | undefined> {
    for await (const event of (await this.#runtime.store()).events({ ids: [id] })) return event.session;
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
      const found = new Map<Node, Node>();
      for (let node = call.log.tip; node !== undefined; node = node.prior) if (isReturned(node.kind)) found.set(callOf(node), node);
      results = found;
      this.#results.set(call.log, results);
    }
    return results.get(call);
  }
}
