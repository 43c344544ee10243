/**
 * The access log: who changed something, who was turned away, and who read what leaves the house (keys, blobs, exports). Entries are
 * written in batches behind the answers, and all of them when the server closes. Never a query, a body or a secret.
 */
import type { AccessEntry, AccessStore } from "../access/access.ts";
import { counted } from "../session/counted.ts";
import type { Limits } from "./limits.ts";
import { forLog, type Seen } from "./seen.ts";

const batchMs = 200;
const largestBatch = 500;
/** When the store takes none for so long that more wait, the oldest are given up: memory must not grow. */
const mostWaiting = 20_000;
/** A key's last use is told so exactly. */
const usedMs = 60_000;
/** Of calls that were too many, one is noted so often: the log must not become what they are too many for. */
const limitedMs = 10_000;
/** A store that took none is asked again so soon. */
const againMs = 5000;

/** Old entries are looked for so often, or when so many more were written. */
const trimMs = 3_600_000;
const trimEntries = 10_000;

/** Reads that are noted though they change nothing. Of jobs it is the file: anybody can name a job that nobody asked for, and have it made. */
const noted = /^\/v1\/(?:.*\/)?(?:keys|access|blobs?|exports?|bundles?|dossiers?|jobs\/\{job\}\/result)(?:[/.]|$)/;

export interface AccessLogOptions {
  readonly access: () => Promise<AccessStore>;
  readonly clean: (text: string) => string;
  readonly warn: (message: string) => void;
  readonly limits: Pick<Limits, "accessEntries" | "accessDays">;
}

export class AccessLog {
  readonly #access: () => Promise<AccessStore>;
  readonly #clean: (text: string) => string;
  readonly #warn: (message: string) => void;
  readonly #limits: AccessLogOptions["limits"];
  /** When the log was last trimmed, and how much was written since. */
  #trimmed = Number.NEGATIVE_INFINITY;
  #untrimmed = 0;
  readonly #waiting: AccessEntry[] = [];
  #lost = 0;
  readonly #used = new Map<string, string>();
  readonly #told = new Map<string, number>();
  readonly #limited = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor({ access, clean, warn, limits }: AccessLogOptions) {
    this.#access = access;
    this.#clean = clean;
    this.#warn = warn;
    this.#limits = limits;
  }

  /** Notes an answered call if it is one of those that count. Waits for nothing. */
  seen(call: Seen, now: Date): void {
    if (call.key !== undefined && call.status < 400) this.#use(call.key, now);
    if (!isNoted(call) || (call.status === 429 && this.#isKnownLimit(call.key ?? "", now.getTime()))) return;
    if (this.#waiting.length >= mostWaiting) {
      this.#waiting.shift();
      this.#lost++;
    }
    this.#waiting.push(this.#entryOf(call, now));
    this.#soon();
  }

  #isKnownLimit(key: string, now: number): boolean {
    if (now - (this.#limited.get(key) ?? Number.NEGATIVE_INFINITY) < limitedMs) return true;
    if (this.#limited.size > 10_000) this.#limited.clear();
    this.#limited.set(key, now);
    return false;
  }

  #use(id: string, now: Date): void {
    if (now.getTime() - (this.#told.get(id) ?? Number.NEGATIVE_INFINITY) < usedMs) return;
    // Keys come and go; what is forgotten here is told once more than needed.
    if (this.#told.size > 10_000) this.#told.clear();
    this.#told.set(id, now.getTime());
    this.#used.set(id, now.toISOString());
    this.#soon();
  }

  #entryOf({ request, key, identity, tenant, project, method, route, about, status, code }: Seen, now: Date): AccessEntry {
    return {
      ...(tenant === undefined || project === undefined ? {} : { tenant, project }),
      ...{ at: now.toISOString(), request, key, identity, method, status, code },
      route: route ?? "unknown",
      about: about === undefined ? undefined : forLog(about, this.#clean),
    };
  }

  #soon(ms = batchMs): void {
    this.#timer ??= setTimeout(() => void this.flush(), ms).unref();
  }

  /** Writes what waits. Never throws: whoever watches is told. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing
      .then(() => this.#write())
      .catch((error: unknown) => {
        this.#warn(`The access log could not be written: ${this.#clean(error instanceof Error ? error.message : String(error))}`);
        this.#soon(againMs);
      });
    return this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#waiting.length === 0 && this.#used.size === 0) return;
    const access = await this.#access();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, largestBatch);
      try {
        await access.note(batch);
        this.#untrimmed += batch.length;
      } catch (error) {
        this.#waiting.unshift(...batch);
        throw error;
      }
    }
    const used = [...this.#used].map(([id, at]) => ({ id, at }));
    this.#used.clear();
    await access.used(used);
    await this.#trim(access, Date.now());
    if (this.#lost > 0) this.#warn(`The access log lost ${counted(this.#lost, "entry")}: its store took none for too long.`);
    this.#lost = 0;
  }

  /** Now and then: what is removed is little then, and mostly nothing. */
  async #trim(access: AccessStore, now: number): Promise<void> {
    const { accessEntries: most, accessDays } = this.#limits;
    if (now - this.#trimmed < trimMs && this.#untrimmed < Math.min(trimEntries, most)) return;
    [this.#trimmed, this.#untrimmed] = [now, 0];
    await access.trim({ since: daysBefore(now, accessDays), most });
  }
}

/** Times before the first that can be written are as old. */
function daysBefore(now: number, days: number): string {
  return new Date(Math.max(0, now - days * 86_400_000)).toISOString();
}

function isNoted({ method, route, status, code }: Seen): boolean {
  if (status === 401 || status === 403 || status === 429) return true;
  if (route === undefined || code === "request.not-found" || code === "request.not-allowed") return false;
  // What is not there yet was not read: whoever waits for it asks often.
  return (method !== "GET" && method !== "HEAD" && method !== "OPTIONS") || (noted.test(route) && status !== 202);
}
