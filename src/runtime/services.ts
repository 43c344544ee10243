/** What the parts of the runtime need from each other's surroundings: the machine, the store, and what is known about logs. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { DataOf, EventKind } from "../session/event.ts";
import type { State } from "../session/fold.ts";
import type { Effect } from "../session/host.ts";
import type { Scope } from "../session/id.ts";
import type { Redact } from "../session/json.ts";
import type { Log, Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Session } from "../session/session.ts";
import type { StreamPart } from "../session/stream.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Stage } from "./acting.ts";
import type { Key } from "./key.ts";
import type { Telemetry } from "./telemetry.ts";

/** Which execution and scope the running user code belongs to. */
export interface Inside {
  readonly execution: object;
  readonly scope: Scope;
}

/** One for the process: before Node 24 every instance costs time at each promise, used or not. */
export const inside = new AsyncLocalStorage<Inside>();

export interface Times {
  /** How long nothing may move before a resumed run counts as diverged, and a replay. */
  readonly stillResumeMs: number;
  readonly stillReplayMs: number;
  /** How long a run has nothing but waits before it is parked. */
  readonly parkGraceMs: number;
  /** How long the end of a run waits for effects that may not be repeated. */
  readonly closeMs: number;
  /** How long a run is kept from others after its holder was last heard of. */
  readonly leaseMs: number;
  /** How often somebody looks for runs that are due, and for news of those that are held here. */
  readonly lookMs: number;
  /** How long a program waits for a person before it says so: outside a run, or for the result of one. */
  readonly remindMs: number;
  /** How many workers in a row may die of a run before it is given up. */
  readonly deaths: number;
}

export interface Given {
  readonly id: string;
  readonly by: string;
  readonly at: string;
  readonly data: DataOf<"answer.given">;
}

/** An execution as others see it. */
export interface Living {
  readonly id: string;
  readonly closed: boolean;
  watch(watcher: (part: StreamPart, call?: string) => void): () => void;
  readonly open: ReadonlySet<{ readonly waiting: boolean; readonly asking: boolean; readonly mark: Node; readonly effect: Effect }>;
  leave(): void;
  close(gone?: Error): void;
}

/** The files of a directory as they were when a placement was first used. */
export interface Captured {
  readonly directory: string;
  readonly tree: string;
  readonly layers: readonly string[];
  readonly withheld: readonly string[];
  /** The event that says so, where it is on record. */
  readonly event?: string | undefined;
}

/** Whose log says what was opened and closed. */
export interface Owner {
  readonly log: Log;
  journal(kind: EventKind, data: unknown): Node;
  /** A rerun takes the files its source found. */
  readonly reuse?: { capturedFor(placement: Node): Captured | undefined } | undefined;
}

export interface Services {
  readonly platform: Platform;
  readonly redact: Redact;
  readonly deps: object;
  /** Writes that nobody waits for may be acknowledged before they are on disk. */
  readonly relaxed: boolean;
  readonly closed: boolean;
  /** Text that is kept beside the log. */
  clean(text: string): string;
  /** The name a workflow is registered under, its own, or where it is found in the one around it. */
  nameOf(workflow: object, around?: object): string;
  readonly times: Times;
  readonly telemetry: Telemetry | undefined;
  readonly answers: {
    wait(
      question: string,
      until: string | undefined,
      execution: { readonly closed: boolean; readonly mode: string },
      looked?: () => void,
    ): Promise<Given | "expired" | "closed">;
    find(question: string): Promise<Given | undefined>;
    /** The answer of whoever was faster, or that it is over. */
    expire(question: string): Promise<Given | "expired">;
    drop(execution: object): void;
  };
  readonly mailbox: {
    receive(
      execution: { readonly id: string; readonly mode: string; readonly closed: boolean },
      called: Node,
      until: string | undefined,
      stop: AbortSignal | undefined,
      waits?: () => void,
    ): Promise<{ readonly id: string; readonly data: unknown } | "expired" | "stopped" | "closed">;
    drop(execution: object): void;
  };
  store(): Promise<Store>;
  key(): Promise<Key>;
  /** The key, once it was opened. */
  readonly knownKey: Key | undefined;
  /** The value as anybody outside a run may use it. */
  outside(node: Node, by?: string): Session;
  storedHead(session: string): Promise<string | undefined>;
  toStored(node: Node): StoredEvent;
  /** The canonical data of an event. */
  textOf(node: Node): string;
  /** Whoever acts outside any workflow. */
  readonly effects: { readonly id: string };
  /** A log is on disk now: opening it again finds this one. */
  know(log: Log): void;
  /** An execution lives: what it waits for is pending here. */
  watch(execution: Living): void;
  /** Counts a call that is not made again, as rules counted it when it was made. */
  recount(call: Node, count: (rule: object) => number): void;
  /** What an effect needs to act where its session is placed. */
  stage(owner: Owner, called: Node, signal: AbortSignal, progress: (text: string) => void): Stage;
  /** The tree at a place, as it is known or as work that began there found it. */
  treeAt(state: State, work: Node): string;
  /** Objects of a workspace go to disk with an event. */
  goWith(node: Node, objects: ReadonlyMap<string, Uint8Array>): void;
  /** Makes visible to all what a run has staged at a place. */
  publishMemory(execution: object, place: Node): Promise<DataOf<"memory.published"> | undefined>;
  /** Told of events that were linked again under other names. */
  readonly memories: { noteMoved(nodes: readonly Node[]): Promise<void> };
  /** Ends what an execution holds open. */
  closeSandboxes(owner: Owner, reason: string): Promise<void>;
  warn(message: string): void;
  warnMoved(log: Log): void;
  /** Warns of an implicit fork, or refuses it, as the options say. `returnedBy`: the workflow that gave the place as its result. */
  warnImplicit(head: Node, diverging: boolean, returnedBy?: string): void;
}
