/**
 * Looks for secrets in everything a store keeps: events, what logs and runs are called, blobs, files, memories. Secrets are replaced
 * before anything is stored; this proves it, and finds what went in before a secret was declared.
 */
import type { Rath } from "../runtime/rath.ts";
import { redactor } from "../runtime/redact.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { dataText } from "../session/codec.ts";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { givenOptions } from "../session/given.ts";
import type { SecretAt } from "../session/json.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { decodeDirectory, emptyTree } from "../workspace/tree.ts";
import { isHash } from "./blob-references.ts";
import { runtimeBehind } from "./grep-scope.ts";
import { textsIn } from "./grep-text.ts";
import { type PlacedText, stringsIn, textsOfBytes, utf16Of } from "./scan-text.ts";

/** What to look for, and how. */
export interface ScanOptions {
  /** More secrets than those that were declared with `openrath({ secrets })`; each has six characters or more. */
  readonly secrets?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called now and then with how many more bytes were looked at. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** Where a secret is. It never says the secret itself. */
export interface SecretFinding {
  /** What it is in. */
  readonly in: "event" | "log" | "run" | "blob" | "file" | "directory" | "memory";
  /** The id of the event, log or run, the hash of the bytes, or the uri and version of the memory. */
  readonly id: string;
  /** Where in it: a path in the data, a field; of a file its path. */
  readonly where: string;
  /** What it is, like "GitHub token" or "declared secret of 14 characters in base64". */
  readonly secret: string;
  /** How all secrets of this kind begin, and how long this one is, like "ghp_… (40 characters)". */
  readonly masked: string;
  /** The event that has it, or that first named what has it; undefined when none does. */
  readonly event?: string | undefined;
  readonly session?: string | undefined;
  readonly step?: number | undefined;
}

/** What a scan looked at, and what it found. */
export interface ScanReport {
  /** Nothing was found, and everything could be read. */
  readonly clean: boolean;
  readonly findings: readonly SecretFinding[];
  /** What could not be looked at, and why. */
  readonly unreadable: readonly { readonly what: string; readonly problem: string }[];
  readonly looked: {
    readonly logs: number;
    readonly events: number;
    readonly runs: number;
    readonly blobs: number;
    readonly files: number;
    readonly memories: number;
    readonly bytes: number;
  };
}

/**
 * Looks for secrets in everything a Rath keeps: the declared ones, plain and in JSON, URLs, base64 and hex, and keys whose shape gives
 * them away. Every log is read (sessions, runs, answers, signals), every blob and every file once, also those no event names any
 * more, and every version of every memory. Changes nothing.
 *
 * @example
 * const { clean, findings } = await scan(rath, { secrets: [process.env["OLD_PASSWORD"] ?? "not-set"] });
 * if (!clean) for (const { secret, in: what, id, where } of findings) console.error(`${secret} in ${what} ${id}, ${where}`);
 */
export async function scan(rath: Rath, options: ScanOptions = {}): Promise<ScanReport> {
  const { secrets = [] } = givenOptions(options, ["secrets", "signal", "onProgress"], "scan");
  const runtime = runtimeBehind(rath);
  runtime.assertOpen();
  await runtime.effects.writer.flush();
  const own = runtime.redact.secretsIn ?? redactor().secretsIn;
  const given = secrets.length === 0 ? undefined : redactor(secrets).secretsIn;
  const find = (text: string): readonly SecretAt[] => distinct([...(own?.(text) ?? []), ...(given?.(text) ?? [])]);
  const scanning = new Scanning(runtime, await runtime.store(), find, options);
  await scanning.logs();
  await scanning.runs();
  await scanning.unnamed();
  await scanning.memories();
  return scanning.report();
}

/** Both may know the same key by its shape. */
function distinct(found: readonly SecretAt[]): readonly SecretAt[] {
  const places = new Set<string>();
  return found.filter(({ kind, at }) => !places.has(`${at} ${kind}`) && places.add(`${at} ${kind}`));
}

/** What something was first named by. */
interface Origin {
  readonly event: string;
  readonly session: string;
  readonly step: number;
}
type Place = Pick<SecretFinding, "in" | "id" | "event" | "session" | "step">;

class Scanning {
  readonly #runtime: Runtime;
  readonly #store: Store;
  readonly #find: (text: string) => readonly SecretAt[];
  readonly #options: ScanOptions;
  readonly #findings = new Map<string, SecretFinding>();
  readonly #unreadable: { what: string; problem: string }[] = [];
  readonly #looked = { logs: 0, events: 0, runs: 0, blobs: 0, files: 0, memories: 0, bytes: 0 };
  readonly #met = new Set<string>([emptyTree]);

  constructor(runtime: Runtime, store: Store, find: (text: string) => readonly SecretAt[], options: ScanOptions) {
    this.#runtime = runtime;
    this.#store = store;
    this.#find = find;
    this.#options = options;
  }

  report(): ScanReport {
    const findings = [...this.#findings.values()];
    const clean = findings.length === 0 && this.#unreadable.length === 0;
    return { clean, findings, unreadable: this.#unreadable, looked: { ...this.#looked } };
  }

  async logs(): Promise<void> {
    for await (const { id, created: _, ...row } of this.#store.sessions({})) {
      this.#looked.logs++;
      this.#texts({ in: "log", id, session: id }, stringsIn(row));
      await this.#unlessDamaged(`log ${id}`, async () => {
        for await (const event of this.#store.events({ session: id })) await this.#event(event);
      });
    }
  }

  async runs(): Promise<void> {
    for await (const row of this.#store.runs({})) {
      this.#looked.runs++;
      this.#texts({ in: "run", id: row.id, session: row.session }, stringsIn(row));
    }
  }

  /** Blobs that no event of this project names: nobody removed them yet, or another project has them. */
  async unnamed(): Promise<void> {
    if (this.#store.sweep === undefined) {
      this.#unreadable.push({ what: "blobs that no event names", problem: "this store cannot list them" });
      return;
    }
    const keeping = async (): Promise<(hash: string) => boolean> => (hash) => this.#met.has(hash);
    const hashes: string[] = [];
    for await (const { hash } of this.#store.sweep({ before: "9999-01-01T00:00:00.000Z", dryRun: true, keeping })) hashes.push(hash);
    for (const hash of hashes) await this.#blob({ in: "blob", id: hash }, "named by no event here");
  }

  async memories(): Promise<void> {
    const memory = await this.#runtime.memories.store();
    for await (const record of memory.list({ asOf: "all" })) {
      this.#looked.memories++;
      const { uri, version, event, session } = record;
      this.#texts({ in: "memory", id: `${uri}@${version}`, event, session }, stringsIn(record));
    }
  }

  async #event({ id, session, step, envelope, data }: StoredEvent): Promise<void> {
    this.#looked.events++;
    const origin = { event: id, session, step };
    const place: Place = { in: "event", id, ...origin };
    const { platform } = this.#runtime;
    this.#texts(place, stringsIn(this.#parsed(place, platform.text(envelope)), "envelope"));
    if (data === undefined) return;
    this.#texts(place, stringsIn(this.#parsed(place, dataText(platform, data)), "data"));
    const { blobs, trees } = textsIn("", dataText(platform, data));
    for (const { hash, where } of blobs) await this.#blob({ in: "blob", id: hash, ...origin }, `data.${where}`);
    for (const tree of trees) await this.#tree(tree, origin);
  }

  /** What is no JSON is a text like any other. */
  #parsed(place: Place, text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      this.#unreadable.push({ what: `event ${place.id}`, problem: "it is no JSON: it was looked at as it stands" });
      return text;
    }
  }

  /** Directories that several trees share are looked at once. Without recursion: a tree may be deeper than the call stack. */
  async #tree(root: string, origin: Origin): Promise<void> {
    const waiting = [{ hash: root, path: "" }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { hash, path } = next;
      const bytes = await this.#blob({ in: "directory", id: hash, ...origin }, path === "" ? "." : path);
      if (bytes === undefined) continue;
      await this.#unlessDamaged(`directory ${hash}`, async () => {
        for (const [name, entry] of decodeDirectory(bytes)) {
          const at = path === "" ? name : `${path}/${name}`;
          if (entry.type === "directory") waiting.push({ hash: entry.hash, path: at });
          else if (entry.type === "file") await this.#blob({ in: "file", id: entry.hash, ...origin }, at);
        }
      });
    }
  }

  /** Looks at bytes that were not met before, and gives them. */
  async #blob(place: Place, where: string): Promise<Uint8Array | undefined> {
    const { id } = place;
    if (this.#met.has(id)) return undefined;
    this.#met.add(id);
    // What is no name of a blob was looked at with the event.
    if (!isHash(id)) return undefined;
    const read = await this.#unlessDamaged(`blob ${id}`, async () => ({ bytes: await this.#store.blob(id) }));
    if (read === undefined) return undefined;
    const { bytes } = read;
    if (bytes === undefined) {
      this.#unreadable.push({ what: `blob ${id}`, problem: "it is missing" });
      return undefined;
    }
    if (place.in === "file") this.#looked.files++;
    else this.#looked.blobs++;
    for (const text of textsOfBytes(bytes)) {
      this.#texts(place, [{ where, text }]);
      // A text with half a character is stored as hex digits of its units.
      if (/^(?:[0-9a-f]{4})+$/.test(text)) this.#texts(place, [{ where, text: utf16Of(text) }]);
    }
    return bytes;
  }

  #texts(place: Place, texts: Iterable<PlacedText>): void {
    this.#options.signal?.throwIfAborted();
    let bytes = 0;
    for (const { where, text } of texts) {
      bytes += text.length;
      for (const { kind, begins, length } of this.#find(text)) {
        const key = [place.in, place.id, where, kind].join("\0");
        if (this.#findings.has(key)) continue;
        const masked = `${begins}… (${counted(length, "character")})`;
        this.#findings.set(key, { ...this.#clean({ ...place, where }), secret: kind, masked });
      }
    }
    this.#looked.bytes += bytes;
    this.#options.onProgress?.(bytes);
  }

  /** Names and ids may hold the secret themselves. */
  #clean(place: Place & { readonly where: string }): Place & { readonly where: string } {
    const clean = (text: string): string => {
      let [kept, from] = ["", 0];
      for (const { at, length } of [...this.#find(text)].sort((a, b) => a.at - b.at)) {
        if (at < from) continue;
        kept += `${text.slice(from, at)}[secret]`;
        from = at + length;
      }
      return kept + text.slice(from);
    };
    return Object.fromEntries(
      Object.entries(place).map(([name, value]) => [name, typeof value === "string" ? clean(value) : value]),
    ) as unknown as Place & { readonly where: string };
  }

  async #unlessDamaged<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!RathError.is(error, "store.corrupt") && !RathError.is(error, "workspace.invalid")) throw error;
      this.#unreadable.push({ what, problem: textOfThrown(error) });
      return undefined;
    }
  }
}
