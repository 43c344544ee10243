/** Worker processes that are killed, frozen and told to go, and what they say. A spare is always warm: a death costs no pause. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { bundled } from "../support/bundled.ts";
import type { WorkerPlan } from "./worker-plan.ts";

const script = await bundled(new URL("./worker-process.ts", import.meta.url));
const root = new URL("../..", import.meta.url).pathname;

/** What all workers together have said. */
export interface Heard {
  /** Runs taken from a worker that died or was cut off. */
  takeovers: number;
  /** Appends refused because their run had been taken over. */
  fenced: number;
  /** Leases found to be lost when they were renewed. */
  lost: number;
  /** Writes the store had no room for. */
  full: number;
}

/** One process. */
export class Worker {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly gone: Promise<void>;
  /** How often its event loop came round. */
  beats = 0;
  busy = 0;
  stopped = false;
  /** We ended it, or told it to end. */
  doomed = false;
  errors = "";

  constructor(plan: WorkerPlan, hear: (worker: Worker, word: string, rest: readonly string[]) => void) {
    this.child = spawn(process.execPath, [script, JSON.stringify(plan)], {
      cwd: root,
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...(plan.home === undefined ? {} : { OPENRATH_HOME: plan.home }) },
    });
    this.child.stdin?.on("error", () => {}); // it died
    this.gone = new Promise((resolve) => this.child.once("close", () => resolve()));
    this.ready = new Promise((resolve, reject) => {
      this.child.once("close", () => reject(new Error(`a worker ended before it began: ${this.errors}`)));
      createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
        const [word = "", ...rest] = line.split(" ");
        if (word === "READY") resolve();
        else if (word === "BEAT") this.beats++;
        else if (word === "BUSY") this.busy = Number(rest[0]);
        else hear(this, word, rest);
      });
    });
    this.ready.catch(() => {}); // whoever waits for it is told
    this.child.stderr?.on("data", (text: Buffer) => {
      this.errors = (this.errors + text.toString()).slice(-20_000);
    });
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  begin(): void {
    this.child.stdin?.write("go\n");
  }

  async kill(): Promise<void> {
    this.doomed = true;
    this.child.kill("SIGKILL");
    await this.gone;
  }

  freeze(): void {
    this.stopped = true;
    this.child.kill("SIGSTOP");
  }

  thaw(): void {
    this.stopped = false;
    this.child.kill("SIGCONT");
  }

  /** Tells it to finish what it is at and to go. */
  async drain(): Promise<void> {
    this.doomed = true;
    this.child.kill("SIGTERM");
    await this.gone;
  }
}

export class Fleet implements AsyncDisposable {
  readonly heard: Heard = { takeovers: 0, fenced: 0, lost: 0, full: 0 };
  /** Those that ended though nobody told them to. */
  readonly casualties: string[] = [];
  /** Who took each run last. */
  readonly holders = new Map<string, Worker>();
  readonly #plan: WorkerPlan;
  readonly #all: Worker[] = [];
  #working: Worker[] = [];
  #spare: Worker | undefined;
  readonly #listeners = new Set<(worker: Worker, word: string, rest: readonly string[]) => void>();

  constructor(plan: WorkerPlan) {
    this.#plan = plan;
  }

  get working(): readonly Worker[] {
    this.#working = this.#working.filter(({ alive }) => alive);
    return this.#working;
  }

  async start(size: number): Promise<void> {
    const workers = Array.from({ length: size }, () => this.#spawn());
    await Promise.all(workers.map(({ ready }) => ready));
    for (const worker of workers) this.#set(worker);
    this.#spare = this.#spawn();
  }

  /** One more, at once if the spare is warm. */
  async add(): Promise<Worker> {
    const worker = this.#spare ?? this.#spawn();
    this.#spare = this.#spawn();
    await worker.ready;
    return this.#set(worker);
  }

  /** A worker that did not end as it was told to is replaced, and remembered. */
  async mend(size: number): Promise<void> {
    while (this.working.length < size) await this.add();
  }

  listen(listener: (worker: Worker, word: string, rest: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits for a word; undefined when it does not come in time. */
  next(word: string, forMs: number, fits: (worker: Worker, rest: readonly string[]) => boolean = () => true): Promise<Worker | undefined> {
    return new Promise((resolve) => {
      const end = (worker?: Worker): void => {
        unlisten();
        clearTimeout(timer);
        resolve(worker);
      };
      const unlisten = this.listen((worker, said, rest) => said === word && fits(worker, rest) && end(worker));
      const timer = setTimeout(end, forMs);
    });
  }

  get errors(): string {
    return this.#all.map(({ child, errors }) => (errors === "" ? "" : `--- ${child.pid}\n${errors}`)).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#all) if (worker.alive) await worker.kill();
  }

  #spawn(): Worker {
    const worker = new Worker(this.#plan, (from, word, rest) => this.#hear(from, word, rest));
    this.#all.push(worker);
    void worker.gone.then(() => {
      if (!worker.doomed) this.casualties.push(`${worker.child.exitCode ?? worker.child.signalCode}: ${worker.errors}`);
    });
    return worker;
  }

  #set(worker: Worker): Worker {
    worker.begin();
    this.#working.push(worker);
    return worker;
  }

  #hear(worker: Worker, word: string, rest: readonly string[]): void {
    if (word === "TAKEN") {
      this.holders.set(rest[0] ?? "", worker);
      if (rest[2] === "abandoned") this.heard.takeovers++;
    }
    if (word === "FENCED") this.heard.fenced++;
    if (word === "LOST") this.heard.lost++;
    if (word === "FULL") this.heard.full++;
    for (const listener of this.#listeners) listener(worker, word, rest);
  }
}
