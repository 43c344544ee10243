/** The keys of signals that mailboxes hold, as far as they were read here: who sends the next signal reads on from there, not all of them again. */
import { dataText } from "../session/codec.ts";
import { Log } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { fromStored } from "./load.ts";

/** What was read of a mailbox. */
interface Read {
  readonly keys: Set<string>;
  tip: string | undefined;
  step: number;
}

/** How many keys are kept; the mailbox in use is kept whatever it holds. */
const mostKeys = 100_000;

export class SentKeys {
  readonly #runtime: { readonly platform: Platform };
  readonly #most: number;
  /** The longest unused first. */
  readonly #read = new Map<string, Read>();

  constructor(runtime: { readonly platform: Platform }, most = mostKeys) {
    this.#runtime = runtime;
    this.#most = most;
  }

  /** The log of a mailbox with its newest event, and all its keys. Of one mailbox, one call at a time. */
  async of(store: Store, mailbox: string): Promise<{ readonly log: Log; readonly keys: ReadonlySet<string> }> {
    const { platform } = this.#runtime;
    const read = this.#read.get(mailbox) ?? { keys: new Set(), tip: undefined, step: 0 };
    const log = new Log(mailbox, "answer");
    for await (const event of store.events({ session: mailbox, from: read.step })) {
      if (log.tip === undefined && read.tip !== undefined && event.id !== read.tip) break;
      fromStored(platform, event, log, []);
      const key = event.id === read.tip ? undefined : keyOf(platform, event);
      if (key !== undefined) read.keys.add(key);
    }
    this.#read.delete(mailbox);
    // What was read is not there any more: it is another mailbox by now.
    if (log.tip === undefined && read.tip !== undefined) return this.of(store, mailbox);
    read.tip = log.tip?.id;
    read.step = log.tip?.step ?? 0;
    this.#keep(mailbox, read);
    return { log, keys: read.keys };
  }

  #keep(mailbox: string, read: Read): void {
    this.#read.set(mailbox, read);
    let kept = 0;
    for (const { keys } of this.#read.values()) kept += keys.size + 1;
    for (const [unused, { keys }] of this.#read) {
      if (kept <= this.#most || unused === mailbox) return;
      this.#read.delete(unused);
      kept -= keys.size + 1;
    }
  }
}

/** Its key, read without what else is in it. */
function keyOf(platform: Platform, { data }: StoredEvent): string | undefined {
  return data === undefined ? undefined : (JSON.parse(dataText(platform, data)) as { readonly key?: string }).key;
}
