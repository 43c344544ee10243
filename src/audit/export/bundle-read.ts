/** The lines of a bundle, each checked by itself: canonical, of a known shape, and counted. What they mean together is checked afterwards. */
import { isUtf8 } from "node:buffer";
import canonicalize from "canonicalize";
import { z } from "zod";
import { counted } from "../../session/counted.ts";
import { type ErrorCode, RathError } from "../../session/errors.ts";
import type { EventQuery, LogQuery, LogRow, RunQuery, RunRow, StoredEvent } from "../../store/store.ts";
import { isHash } from "../blob-references.ts";
import type { Source } from "../gather.ts";
import {
  type BlobLine,
  contentOf,
  type EventLine,
  formatName,
  formatVersion,
  type Header,
  type LogLine,
  type RunLine,
  runRowOf,
  storedOf,
} from "./bundle-format.ts";
import type { Line } from "./lines.ts";

const count = z.int().min(0);
const hash = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits");
const name = z.string().min(1);
const shapes = {
  header: z.strictObject({
    format: z.literal(formatName),
    version: z.int().min(1),
    session: name,
    head: hash,
    logs: count,
    runs: count,
    events: count,
    blobs: count,
  }),
  log: z.strictObject({
    log: name,
    kind: z.enum(["session", "run", "answer", "erasure"]),
    head: hash,
    events: count,
    parent: name.optional(),
    principal: z.string().optional(),
    run: name.optional(),
    tags: z.array(z.string()).min(1).optional(),
    title: z.string().optional(),
  }),
  run: z.strictObject({
    run: name,
    key: z.string().optional(),
    session: name,
    status: name,
    wakeAt: z.string().optional(),
    workflow: z.string(),
  }),
  event: z.strictObject({
    id: hash,
    order: z.int().min(-1),
    run: name.optional(),
    envelope: z.looseObject({ session: name, step: z.int().min(1) }),
    erased: hash.optional(),
    data: z.unknown().optional(),
    salt: z
      .string()
      .regex(/^[0-9a-f]{32}$/, "must be 32 lower-case hex digits")
      .optional(),
  }),
  blob: z.strictObject({ blob: hash, bytes: count, text: z.string().optional(), base64: z.string().optional() }),
};

/** An error that says where in the bundle it is. */
export function invalid(
  line: number | undefined,
  field: string | undefined,
  problem: string,
  code: ErrorCode = "bundle.invalid",
): RathError {
  const where = [line === undefined ? undefined : `line ${line}`, field === undefined ? undefined : `field "${field}"`]
    .filter((part) => part !== undefined)
    .join(", ");
  return new RathError(code, `The bundle cannot be imported${where === "" ? "" : ` (${where})`}: ${problem}. Nothing was written.`, {
    details: { line, field },
  });
}

/** Gives the content of a blob that lies beside the lines; undefined when it is not there. */
export type Beside = (hash: string, bytes: number) => Promise<Uint8Array | undefined>;

/** A bundle in memory, readable like a store. */
export class BundleSource implements Source {
  readonly header: Header;
  readonly runRows: readonly RunRow[];
  readonly rows: readonly LogRow[];
  readonly #logs: ReadonlyMap<string, readonly StoredEvent[]>;
  readonly #byId: ReadonlyMap<string, StoredEvent>;
  readonly #blobs: ReadonlyMap<string, Uint8Array>;
  readonly #lines: ReadonlyMap<string, number>;

  constructor(header: Header, content: Content) {
    this.header = header;
    this.rows = [...content.logs.values()].map(rowOf);
    this.runRows = [...content.runs.values()].map(runRowOf);
    this.#logs = content.events;
    this.#byId = content.byId;
    this.#blobs = content.blobs;
    this.#lines = content.lines;
  }

  get hashes(): Iterable<string> {
    return this.#blobs.keys();
  }
  has(hash: string): boolean {
    return this.#blobs.has(hash);
  }
  get ids(): Iterable<string> {
    return this.#byId.keys();
  }

  /** The line of an event, a blob, a log or a run. */
  lineOf(id: string): number | undefined {
    return this.#lines.get(id) ?? this.#lines.get(`log ${id}`) ?? this.#lines.get(`run ${id}`);
  }
  eventsOf(session: string): readonly StoredEvent[] {
    return this.#logs.get(session) ?? [];
  }
  async *events(query: EventQuery): AsyncIterable<StoredEvent> {
    if ("ids" in query) yield* query.ids.flatMap((id) => this.#byId.get(id) ?? []);
    else if ("run" in query) yield* [...this.#byId.values()].filter((event) => event.run === query.run).sort((a, b) => a.order - b.order);
    else yield* this.eventsOf(query.session);
  }
  async *sessions({ id, run, log }: LogQuery): AsyncIterable<LogRow> {
    for (const row of this.rows)
      if (
        (log === undefined || row.log === log) &&
        (id === undefined || row.id === id) &&
        (run === undefined || this.eventsOf(row.id).some((event) => event.run === run))
      )
        yield row;
  }
  async *runs({ id }: RunQuery): AsyncIterable<RunRow> {
    yield* this.runRows.filter((row) => id === undefined || row.id === id);
  }
  async blob(name: string): Promise<Uint8Array | undefined> {
    return this.#blobs.get(name);
  }
}

function rowOf({ log, kind, head, parent, principal, run, tags, title }: LogLine): LogRow {
  return { id: log, log: kind, head, parent, principal, run, tags, title };
}

interface Content {
  readonly logs: Map<string, LogLine>;
  readonly runs: Map<string, RunLine>;
  readonly events: Map<string, StoredEvent[]>;
  readonly byId: Map<string, StoredEvent>;
  readonly blobs: Map<string, Uint8Array>;
  readonly lines: Map<string, number>;
}

/** Reads all lines of a bundle; throws at the first that is wrong by itself. */
export async function readBundle(lines: AsyncIterable<Line>, beside: Beside | undefined): Promise<BundleSource> {
  const content: Content = { logs: new Map(), runs: new Map(), events: new Map(), byId: new Map(), blobs: new Map(), lines: new Map() };
  let header: Header | undefined;
  for await (const line of lines) {
    const value = parse(line);
    if (header === undefined) header = headerOf(line.number, value);
    else await take(content, line.number, value, beside);
  }
  if (header === undefined) throw invalid(1, undefined, "it is empty");
  compare(header, "logs", content.logs.size);
  compare(header, "runs", content.runs.size);
  compare(header, "events", content.byId.size);
  compare(header, "blobs", content.blobs.size);
  for (const { log, head, events } of content.logs.values()) {
    const found = content.events.get(log) ?? [];
    if (found.length !== events)
      throw invalid(content.lines.get(`log ${log}`), "events", `log ${log} has ${counted(found.length, "event")}, its line says ${events}`);
    if (found.at(-1)?.id !== head)
      throw invalid(content.lines.get(`log ${log}`), "head", `log ${log} ends with ${found.at(-1)?.id}, its line says ${head}`);
  }
  return new BundleSource(header, content);
}

function compare(header: Header, what: "logs" | "runs" | "events" | "blobs", found: number): void {
  if (header[what] === found) return;
  throw invalid(
    1,
    what,
    found < header[what]
      ? `it is truncated: its header counts ${header[what]} ${what}, it holds ${found}`
      : `its header counts ${header[what]} ${what}, it holds ${found}`,
  );
}

/** A line's object; refuses what JSON or canonical JSON would change silently. */
function parse({ number, bytes }: Line): Record<string, unknown> {
  if (!isUtf8(bytes)) throw invalid(number, undefined, "the line is not UTF-8");
  const text = bytes.toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(number, undefined, `the line is not JSON, or it was cut off (${(error as Error).message.slice(0, 120)})`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(number, undefined, "the line is not a JSON object");
  let canonical: string | undefined;
  try {
    canonical = canonicalize(value);
  } catch (error) {
    throw invalid(number, undefined, `the line is not canonical JSON (RFC 8785): ${(error as Error).message}`);
  }
  if (canonical !== text)
    throw invalid(
      number,
      undefined,
      `the line is not canonical JSON (RFC 8785) from character ${firstDifference(canonical ?? "", text)} on: white space, order of keys, a key given twice, -0 or a number that JSON cannot hold`,
    );
  return value as Record<string, unknown>;
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at + 1;
}

function headerOf(line: number, value: Record<string, unknown>): Header {
  if (value["format"] !== formatName)
    throw invalid(line, "format", `it is not an OpenRath bundle: the first line must say "format":"${formatName}"`);
  const { version } = value;
  if (typeof version === "number" && version > formatVersion)
    throw invalid(line, "version", `it has version ${version}, this openrath reads up to ${formatVersion}: update openrath to read it`);
  return shaped(shapes.header, line, value);
}

async function take(content: Content, line: number, value: Record<string, unknown>, beside: Beside | undefined): Promise<void> {
  const { logs, runs, events, byId, blobs, lines } = content;
  const once = (key: string, field: string): void => {
    if (lines.has(key)) throw invalid(line, field, `it repeats line ${lines.get(key)}`);
    lines.set(key, line);
  };
  if (Object.hasOwn(value, "envelope")) {
    const given: EventLine = shaped(shapes.event, line, value);
    if (Object.hasOwn(value, "data") !== (given.salt !== undefined))
      throw invalid(line, "salt", "data and salt must both be there, or neither once it was erased");
    if (given.erased !== undefined && given.salt !== undefined) throw invalid(line, "erased", "an event that was erased cannot have data");
    // As parsed, not as the schema copied it: the hash is over every key.
    const event = storedOf({ ...given, envelope: value["envelope"] as EventLine["envelope"], data: value["data"] });
    once(event.id, "id");
    const log = events.get(event.session);
    if (!logs.has(event.session)) throw invalid(line, "envelope.session", `there is no line for log ${event.session} before it`);
    byId.set(event.id, event);
    if (log === undefined) events.set(event.session, [event]);
    else log.push(event);
  } else if (Object.hasOwn(value, "blob")) {
    if (!isHash(value["blob"])) throw invalid(line, "blob", "the name of a blob must be 64 lower-case hex digits");
    const given: BlobLine = shaped(shapes.blob, line, value);
    once(given.blob, "blob");
    blobs.set(given.blob, await contentIn(given, line, beside));
  } else if (Object.hasOwn(value, "log")) {
    const given: LogLine = shaped(shapes.log, line, value);
    once(`log ${given.log}`, "log");
    logs.set(given.log, given);
  } else if (Object.hasOwn(value, "workflow")) {
    const given: RunLine = shaped(shapes.run, line, value);
    once(`run ${given.run}`, "run");
    runs.set(given.run, given);
  } else throw invalid(line, undefined, "the line is neither a log, a run, an event nor a blob");
}

async function contentIn(given: BlobLine, line: number, beside: Beside | undefined): Promise<Uint8Array> {
  if (given.text !== undefined && given.base64 !== undefined) throw invalid(line, "base64", "a blob has either text or base64");
  const content = contentOf(given);
  if (content !== undefined) {
    if (given.base64 !== undefined && Buffer.from(content).toString("base64") !== given.base64)
      throw invalid(line, "base64", "it is not base64 as it is written");
    if (content.length !== given.bytes)
      throw invalid(line, "bytes", `blob ${given.blob} has ${counted(content.length, "byte")}, its line says ${given.bytes}`);
    return content;
  }
  if (beside === undefined)
    throw invalid(line, "blob", `the content of blob ${given.blob} lies in a folder: import the folder, not its session.jsonl`);
  const file = await beside(given.blob, given.bytes);
  if (file === undefined)
    throw invalid(line, "blob", `blob ${given.blob} is missing: there is no file of ${counted(given.bytes, "byte")} blobs/${given.blob}`);
  return file;
}

function shaped<T>(shape: z.ZodType<T>, line: number, value: Record<string, unknown>): T {
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  const path = issue?.path.join(".") ?? "";
  const extra = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  throw invalid(line, [path, extra].filter(Boolean).join(".") || undefined, issue?.message ?? "it does not have the shape it must have");
}
