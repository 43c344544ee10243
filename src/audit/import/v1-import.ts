/** Takes session files of OpenRath 1 into a store. All files are read and found right before anything is written, in one commit. */
import { type Linking, link } from "../../runtime/link.ts";
import { rowOf } from "../../runtime/load.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { RathError } from "../../session/errors.ts";
import { importRunId } from "../../session/id.ts";
import { Log, type Node } from "../../session/log.ts";
import type { Session } from "../../session/session.ts";
import type { BranchWrite } from "../../store/store.ts";
import { eventsBefore, eventsIn, eventsOf, importedEvent, interruptedEvent, type Linked, Pieces } from "./v1-events.ts";
import { exactPlace, type Planned, parentIds, planned } from "./v1-plan.ts";
import { type V1File, v1, wrong } from "./v1-read.ts";

/** A session that was imported. */
export interface ImportedSession {
  readonly session: Session;
  /** The file it came from, and what it was called there. */
  readonly file: string;
  readonly source: string;
  /** It was imported before: nothing was written. */
  readonly known: boolean;
  /** The file ends without saying that it is complete. */
  readonly interrupted: boolean;
}

/** Imports files that belong together; parents come first in what it gives. */
export async function importV1(runtime: Runtime, files: readonly V1File[]): Promise<readonly ImportedSession[]> {
  const plans = planned(runtime.platform, files);
  for (const { file } of plans) for (const warning of file.warnings) runtime.warn(`${file.name}: ${warning}.`);
  await runtime.effects.writer.flush();
  const known = await written(runtime, plans);
  return Promise.all(
    plans.map(async (plan) => {
      const log = (await runtime.load([plan.session])).get(plan.session) as Log;
      return {
        session: runtime.outside(nodeAt(log, eventsIn(plan) - 1)),
        file: plan.file.name,
        source: plan.file.header.id,
        known: known.has(plan.session),
        interrupted: plan.file.trailer === undefined,
      };
    }),
  );
}

/** Writes what is not there yet; gives which were there. Somebody else may import the same at the same time: then it is looked at again. */
async function written(runtime: Runtime, plans: readonly Planned[]): Promise<ReadonlySet<string>> {
  const store = await runtime.store();
  for (let attempt = 0; attempt < 3; attempt++) {
    const known = new Set<string>();
    for (const { session } of plans) if ((await rowOf(store, session)) !== undefined) known.add(session);
    const fresh = plans.filter(({ session }) => !known.has(session));
    if (fresh.length === 0) return known;
    const linking = new LinkingFiles(runtime, await runtime.load([...known]));
    const branches = fresh.map((plan) => linking.branchOf(plan));
    const blobs = [...linking.blobs].map(([hash, bytes]) => ({ hash, bytes }));
    if ((await store.append({ branches, blobs })).ok) return known;
  }
  throw new RathError("store.conflict", "The files were not imported: somebody else imports them at the same time. Import them again.", {
    retryable: true,
  });
}

class LinkingFiles {
  readonly #runtime: Runtime;
  readonly #logs: Map<string, Log>;
  readonly #nodes = new Map<string, readonly Node[]>();
  readonly blobs = new Map<string, Uint8Array>();

  constructor(runtime: Runtime, known: ReadonlyMap<string, Log>) {
    this.#runtime = runtime;
    this.#logs = new Map(known);
  }

  branchOf(plan: Planned): BranchWrite {
    const { base, file, session } = plan;
    const log = new Log(session);
    this.#logs.set(session, log);
    const run = importRunId(this.#runtime.platform, session);
    const nodes: Node[] = [];
    const add = (event: Linked, parents: readonly Node[] = nodes.length === 0 ? [] : [nodes.at(-1) as Node], first = false): Node => {
      const node = this.#linked(file, { ...event, log, parents, pure: !first });
      node.run = run;
      node.order = nodes.length;
      nodes.push(node);
      for (const [hash, bytes] of node.blobs ?? []) this.blobs.set(hash, bytes);
      return node;
    };
    if (base === undefined) {
      add(importedEvent(file), [], true);
      for (const id of new Set(parentIds(file))) add({ kind: "record.linked", data: { system: v1, id }, by: "import" });
    } else {
      const scope = { run };
      log.fork = { scope, label: "", ordinal: 0, implicit: false, nested: false };
      add({ kind: "session.forked", data: { ordinal: 0, scope }, by: "import" }, [this.#place(base.parent, base.shared)]);
      const imported = add(importedEvent(file));
      if (base.merged.length > 0) this.#merge(base.merged, imported, add);
    }
    const taken = file.chunks.length - plan.chunks.length;
    const pieces = new Pieces(this.#runtime.platform, add, file.chunks.slice(0, taken));
    for (const chunk of plan.chunks) {
      try {
        pieces.link(chunk, nodes.at(-1) as Node);
      } catch (cause) {
        throw cause instanceof RathError ? wrong(file.name, { line: chunk.line, field: "payload" }, cause.message, cause) : cause;
      }
    }
    if (file.trailer === undefined) add(interruptedEvent());
    this.#nodes.set(session, nodes);
    const parent = base === undefined ? {} : { parent: (nodes[0] as Node).parent?.log.id };
    return {
      session,
      expectedHead: undefined,
      events: nodes.map((node) => this.#runtime.toStored(node)),
      about: { log: "session", ...parent },
    };
  }

  #merge(others: readonly Planned[], imported: Node, add: (event: Linked, parents: readonly Node[]) => Node): void {
    const heads = others.map((other) => this.#place(other, other.file.chunks.length));
    const branches = heads.map((head) => ({ session: head.log.id, head: head.id }));
    add({ kind: "session.merged", data: { branches, context: "all" }, by: "import" }, [imported, ...heads]);
  }

  /** What the store cannot keep is the file's fault. */
  #linked(file: V1File, linking: Linking): Node {
    try {
      return link(this.#runtime, linking);
    } catch (cause) {
      throw cause instanceof RathError && linking.kind === "session.imported" ? wrong(file.name, { line: 1 }, cause.message, cause) : cause;
    }
  }

  /** The place after so many pieces of a file. */
  #place(plan: Planned, pieces: number): Node {
    const exact = exactPlace(plan, pieces) as NonNullable<ReturnType<typeof exactPlace>>;
    let seq = eventsBefore(exact.plan) - 1;
    for (const chunk of exact.plan.chunks.slice(0, exact.own)) seq += eventsOf(chunk);
    const { session } = exact.plan;
    const nodes = this.#nodes.get(session) ?? nodesOf(this.#logs.get(session) as Log);
    this.#nodes.set(session, nodes);
    return nodes[seq] as Node;
  }
}

function nodesOf(log: Log): readonly Node[] {
  const nodes: Node[] = [];
  for (let node = log.tip; node !== undefined; node = node.prior) nodes.push(node);
  return nodes.reverse();
}

function nodeAt(log: Log, seq: number): Node {
  let node = log.tip as Node;
  while (node.seq > seq && node.prior !== undefined) node = node.prior;
  return node;
}
