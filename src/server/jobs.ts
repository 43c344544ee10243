/**
 * Exports and dossiers: work that takes long and makes files. A job is named by what it makes, and sessions do not change, so any server
 * of the store can begin a job that another one was asked for, or make again what was lost. Results are kept in a folder that goes with
 * the server, as long as there is room.
 */
import { mkdir, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Scope } from "../access/access.ts";
import { dossier } from "../audit/dossier/dossier.ts";
import { type WriteFormat, write } from "../audit/export/write.ts";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { JobResource } from "../wire/api/job.ts";
import { downloadFile } from "./download.ts";
import { type JobName, jobIdOf } from "./job-name.ts";
import type { Limits } from "./limits.ts";
import type { Projects } from "./projects.ts";

/** What a file is called, and what it is. */
const files: Readonly<Record<WriteFormat, readonly [name: string, type: string]>> = {
  bundle: ["session.jsonl", "application/x-ndjson"],
  "lineage-jsonl": ["lineage.jsonl", "application/x-ndjson"],
  "chat-jsonl": ["chat.jsonl", "application/x-ndjson"],
  otlp: ["trace.json", "application/json"],
  atif: ["trajectory.json", "application/json"],
  markdown: ["report.md", "text/markdown; charset=utf-8"],
  mermaid: ["lineage.mmd", "text/plain; charset=utf-8"],
  dot: ["lineage.dot", "text/plain; charset=utf-8"],
  svg: ["lineage.svg", "image/svg+xml"],
  html: ["report.html", "text/html; charset=utf-8"],
};

/** So many wait, of one project and of all, so many are known, and so long is kept what they made. */
const mostOfProject = 20;
const mostWaiting = 100;
const mostKnown = 1000;
const keptMs = 10 * 60_000;

interface Job {
  readonly key: string;
  readonly scope: Scope;
  readonly name: JobName;
  /** What was known to be erased when it was begun: what it made is not shown once that is more. */
  readonly erasures: number;
  /** Up to where the store was known when it was begun. */
  place: string;
  /** Only as long as it is needed: it holds a whole session in memory. */
  session: Session | undefined;
  readonly release: () => void;
  status: JobResource["status"];
  done: number;
  stopped: boolean;
  folder?: string;
  /** Where in the folder its files are. */
  readonly base: string;
  files: { readonly path: string; readonly bytes: number }[];
  error?: { readonly code: string; readonly message: string };
  over: Promise<void>;
  expires?: NodeJS.Timeout;
}

/** What was known of a store when a job was asked for. */
interface AsOf {
  readonly erasures: number;
  readonly place: string;
}

export class Jobs {
  readonly #limits: Pick<Limits, "jobs" | "jobBytes">;
  readonly #projects: Projects;
  /** The one that was asked for longest ago first. */
  readonly #jobs = new Map<string, Job>();
  readonly #waiting: Job[] = [];
  #running = 0;
  #closed = false;
  #home: Promise<string> | undefined;

  constructor(limits: Pick<Limits, "jobs" | "jobBytes">, projects: Projects) {
    this.#limits = limits;
    this.#projects = projects;
  }

  /**
   * Begins it, unless it is under way or done. One that failed is tried again, and so is one that is done and looked at a store which has
   * more in it now: most say something of other branches, of runs or of decisions, which come after the place that a job is named by.
   */
  begin(scope: Scope, name: JobName, session: Session, { erasures, place }: AsOf): JobResource {
    const known = this.#known(scope, name, erasures);
    // One that is queued has not looked yet; one that runs is not begun anew, whoever asks how often.
    if (known?.status === "queued") known.place = place;
    if (known?.status === "running" || (known !== undefined && known.status !== "failed" && known.place === place))
      return resourceOf(known);
    this.#checkRoom(scope);
    if (known !== undefined) void this.#drop(known);
    const { release } = this.#projects.hold(scope);
    const { tenant, project } = scope;
    const job: Job = {
      ...{ key: keyOf(scope, name), scope: { tenant, project }, name, session, erasures, place, release },
      ...{ status: "queued", done: 0, stopped: false, files: [], over: Promise.resolve(), base: name.kind },
    };
    this.#jobs.set(job.key, job);
    this.#waiting.push(job);
    this.#next();
    this.#makeRoom();
    return resourceOf(job);
  }

  /** What is known of it here. */
  find(scope: Scope, name: JobName, erasures: number): JobResource | undefined {
    const job = this.#known(scope, name, erasures);
    return job === undefined ? undefined : resourceOf(job);
  }

  /** One of its files; undefined where it has none of this name. */
  async file(scope: Scope, name: JobName, path: string | undefined): Promise<Response | undefined> {
    const job = this.#known(scope, name);
    const wanted = path ?? (name.kind === "dossier" ? "index.html" : job?.files[0]?.path);
    const file = job?.files.find((one) => one.path === wanted);
    if (job?.folder === undefined || file === undefined) return undefined;
    const handle = await open(join(job.folder, job.base, file.path));
    const type = name.kind === "export" ? files[name.options.format][1] : typeOf(file.path);
    return downloadFile(Readable.toWeb(handle.createReadStream()) as ReadableStream<Uint8Array>, {
      name: downloadName(name, file.path),
      type,
      bytes: file.bytes,
    });
  }

  /** Ends it and removes what it made. */
  async cancel(scope: Scope, name: JobName): Promise<void> {
    const job = this.#known(scope, name);
    if (job !== undefined) await this.#drop(job);
  }

  /** Removes all that was made for a project. */
  async forget(scope: Scope): Promise<void> {
    await Promise.all(ofProject(this.#jobs.values(), scope).map((job) => this.#drop(job)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#jobs.values()].map((job) => this.#drop(job)));
    const home = await this.#home?.catch(() => undefined);
    if (home !== undefined) await this.#remove(home);
  }

  /** One project must not keep the others waiting; each that waits holds a session in memory. */
  #checkRoom(scope: Scope): void {
    const theirs = ofProject(this.#waiting, scope).length;
    if (!this.#closed && theirs < mostOfProject && this.#waiting.length < mostWaiting) return;
    throw new RathError(
      "server.busy",
      `No more exports are taken: ${counted(theirs, "export")} of this project already in the queue. Try again later.`,
      {
        retryable: true,
        details: { retryAfter: 5 },
      },
    );
  }

  /** Without `erasures` it is known whatever was erased since. */
  #known(scope: Scope, name: JobName, erasures?: number): Job | undefined {
    const key = keyOf(scope, name);
    const job = this.#jobs.get(key);
    if (job === undefined) return undefined;
    if (erasures !== undefined && job.erasures !== erasures) {
      void this.#drop(job);
      return undefined;
    }
    this.#jobs.delete(key);
    this.#jobs.set(key, job);
    return job;
  }

  #next(): void {
    while (this.#running < this.#limits.jobs) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      this.#running++;
      job.over = this.#make(job).finally(() => {
        this.#running--;
        job.release();
        this.#makeRoom();
        this.#next();
      });
    }
  }

  async #make(job: Job): Promise<void> {
    job.status = "running";
    try {
      const folder = await mkdtemp(join(await this.#folder(), "job-"));
      job.folder = folder;
      job.files = await made(job, join(folder, job.base));
      if (bytesOf(job) > this.#limits.jobBytes)
        throw new RathError(
          "export.failed",
          `It takes ${bytesOf(job)} bytes, more than the ${this.#limits.jobBytes} there is room for here.`,
        );
      job.status = "done";
      job.expires = setTimeout(() => void this.#drop(job), keptMs).unref();
    } catch (error) {
      job.status = "failed";
      job.files = [];
      job.error = RathError.is(error)
        ? { code: error.code, message: this.#projects.own.runtime.clean(error.message) }
        : { code: "export.failed", message: "It could not be made. The server has warned of the reason." };
      if (!RathError.is(error)) this.#projects.own.runtime.warn(`A ${job.name.kind} of ${job.name.session} failed: ${textOfThrown(error)}`);
    }
    job.session = undefined;
    if ((job.stopped || job.status === "failed") && job.folder !== undefined) await this.#remove(job.folder);
  }

  /** Where results are kept. One that could not be made, or that somebody cleared away, is made when the next job needs it. */
  #folder(): Promise<string> {
    const before: Promise<string | undefined> = this.#home ?? Promise.resolve(undefined);
    // One after the other: two would make two.
    this.#home = before.then(there, () => undefined).then((known) => known ?? mkdtemp(join(tmpdir(), "openrath-jobs-")));
    return this.#home;
  }

  /** What cannot be removed is said, and stands in nobody's way: neither the next job's nor the end of the server's. */
  async #remove(folder: string): Promise<void> {
    try {
      await rm(folder, { recursive: true, force: true });
    } catch (error) {
      this.#projects.own.runtime.warn(`What a job made could not be removed: ${textOfThrown(error)}`);
    }
  }

  /** What is under way ends at its next step, and nothing of it is kept. */
  async #drop(job: Job): Promise<void> {
    job.stopped = true;
    clearTimeout(job.expires);
    if (this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
    const at = this.#waiting.indexOf(job);
    if (at >= 0) {
      this.#waiting.splice(at, 1);
      job.release();
    }
    await job.over;
    if (job.folder !== undefined) await this.#remove(job.folder);
  }

  #makeRoom(): void {
    let bytes = 0;
    for (const job of this.#jobs.values()) bytes += bytesOf(job);
    for (const job of [...this.#jobs.values()]) {
      if (bytes <= this.#limits.jobBytes && this.#jobs.size <= mostKnown) return;
      if (job.status === "queued" || job.status === "running") continue;
      bytes -= bytesOf(job);
      void this.#drop(job);
    }
  }
}

async function made(job: Job, folder: string): Promise<Job["files"]> {
  const name = job.name;
  const session = job.session as Session;
  const onProgress = (more: number): void => {
    if (job.stopped) throw new RathError("export.failed", "It was cancelled.");
    job.done += more;
  };
  if (name.kind === "dossier") {
    const report = await dossier(session, folder, { onProgress, replay: name.replay === true });
    return [...report.files];
  }
  const [file] = files[name.options.format];
  await mkdir(folder);
  const options = name.options.format === "html" ? { ...name.options, replay: name.replay === true } : name.options;
  await write(session, join(folder, file), { ...options, onProgress });
  return [{ path: file, bytes: (await stat(join(folder, file))).size }];
}

/** A folder that is still there. */
async function there(folder: string | undefined): Promise<string | undefined> {
  return folder === undefined
    ? undefined
    : stat(folder).then(
        () => folder,
        () => undefined,
      );
}

function ofProject(jobs: Iterable<Job>, { tenant, project }: Scope): Job[] {
  return [...jobs].filter(({ scope }) => scope.tenant === tenant && scope.project === project);
}

function bytesOf({ files }: Job): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function keyOf({ tenant, project }: Scope, name: JobName): string {
  return JSON.stringify([tenant, project, jobIdOf(name)]);
}

function resourceOf({ name, status, done, files: made, error }: Job): JobResource {
  return {
    ...{ id: jobIdOf(name), kind: name.kind, session: name.session, head: name.head, status, progress: { done } },
    ...(status === "done" ? { files: [...made] } : {}),
    ...(error === undefined ? {} : { error }),
  };
}

function downloadName({ kind, session }: JobName, path: string): string {
  const file = path.slice(path.lastIndexOf("/") + 1);
  const dot = file.lastIndexOf(".");
  const [stem, ending] = dot <= 0 ? [file, ""] : [file.slice(0, dot), file.slice(dot)];
  return `${kind === "dossier" && path === "index.html" ? "dossier" : stem}-${session.slice(0, 8)}${ending}`;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  json: "application/json",
  jsonl: "application/x-ndjson",
  md: "text/markdown; charset=utf-8",
  svg: "image/svg+xml",
  diff: "text/plain; charset=utf-8",
};

function typeOf(path: string): string {
  return types[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
}
