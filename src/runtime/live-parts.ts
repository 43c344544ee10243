/** What happens in the executions of this process, as it happens, for those who listen to all of them. Nothing is made while nobody does. */
import type { StreamPart } from "../session/stream.ts";

/** An execution that can be watched. */
interface Watchable {
  readonly id: string;
  readonly closed: boolean;
  watch(watcher: (part: StreamPart, call?: string) => void): () => void;
}

/** A part, and the run it comes from. Parts of the type "event" are not on disk yet when they are heard. */
export type HearPart = (part: StreamPart, run: string, call?: string) => void;

export class LiveParts {
  readonly #hearers = new Set<HearPart>();
  /** Executions that have not ended, with what ends watching them where they are watched. */
  #executions: { readonly execution: Watchable; unwatch: (() => void) | undefined }[] = [];

  /** Hears everything from now on, until the function it was given back is called. */
  hear(hearer: HearPart): () => void {
    this.#hearers.add(hearer);
    this.#sort();
    return () => {
      this.#hearers.delete(hearer);
      this.#sort();
    };
  }

  add(execution: Watchable): void {
    this.#executions.push({ execution, unwatch: undefined });
    this.#sort();
  }

  /** Drops those that ended; watches the rest as long as anybody listens. */
  #sort(): void {
    this.#executions = this.#executions.filter((one) => {
      const watched = this.#hearers.size > 0 && !one.execution.closed;
      if (watched) one.unwatch ??= one.execution.watch((part, call) => this.#tell(part, one.execution.id, call));
      else {
        one.unwatch?.();
        one.unwatch = undefined;
      }
      return !one.execution.closed;
    });
  }

  #tell(part: StreamPart, run: string, call: string | undefined): void {
    for (const hear of [...this.#hearers]) hear(part, run, call);
  }
}
