/** The world of the story: built once, on a real store in a folder of its own, with a process that is killed in the middle of it. */
import { spawn } from "node:child_process";
import { appendFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openrath, type Pending, type Rath, type RathOptions, type Run, type Session, type Workflow } from "../../src/index.ts";
import { type Mcp, mcp } from "../../src/tool/mcp.ts";
import { bundled } from "../support/bundled.ts";
import { noLocal } from "../support/local.ts";
import { published } from "../support/mcp/calls.ts";
import { type Deps, follow, Learn, prices, Repair, repository, task } from "./story.ts";

/** Where commands run: isolated where this machine can, else simulated; `noLocal` says so. */
export const where = noLocal === undefined ? "local" : "memory";

export interface Rich extends AsyncDisposable {
  readonly folder: string;
  readonly rath: Rath;
  /** Opens another Rath on the same store, as another process would. */
  open(): Rath;
  readonly repair: Repair;
  /** The session that taught, and the one that all questions are about. */
  readonly taught: Session;
  readonly session: Session;
  readonly runs: { readonly repair: string; readonly follow: string };
  /** What was decided on, by what it was about. */
  readonly decided: Readonly<Record<"upload" | "publish" | "announce" | "day", string>>;
  /** What really happened outside. */
  uploads(): Promise<string>;
}

export interface Place {
  readonly folder: string;
  readonly board: Mcp;
}

export function repairAt({ folder, board }: Place): Repair {
  return new Repair(board, { ticket: join(folder, "board", "slug-7.txt"), sandbox: where });
}

export function settings(place: Place, deps: Deps): RathOptions & { readonly workflows: { readonly repair: Repair } } {
  const workflows = { learn: new Learn(), repair: repairAt(place), follow };
  return { store: join(place.folder, "store.db"), prices, deps, workflows, implicitForks: "error" };
}

/** A server that somebody else wrote, with a folder of its own. */
export function boardOf(folder: string): Promise<Mcp> {
  return mcp(published("filesystem", join(folder, "board")));
}

export function placed(rath: Rath, folder: string): Session {
  const about = { title: "Slugs without accents", tags: ["release"], principal: "ada" };
  const ticket = { system: "tickets", id: "SLUG-7", uri: "https://tickets.test/SLUG-7", digest: "sha256:0a1b" };
  return rath
    .session(task, about)
    .note("from the board")
    .link(ticket)
    .to("memory", { workspace: join(folder, "repo") });
}

/** `more` are workflows beside those of the story, for whoever serves it. */
export async function buildRich(more: Readonly<Record<string, Workflow>> = {}): Promise<Rich> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "openrath-rich-")));
  await mkdir(join(folder, "repo"));
  await mkdir(join(folder, "board"));
  await writeFile(join(folder, "board", "slug-7.txt"), "slugs: open\n");
  for (const [path, text] of Object.entries(repository)) await writeFile(join(folder, "repo", path), text);

  const board = await boardOf(folder);
  const options = settings({ folder, board }, { upload: (version) => upload(folder, version) });
  const open = (): Rath => openrath({ ...options, workflows: { ...more, ...options.workflows } });
  const teacher = open();
  const lesson = teacher.session("Slugs keep accents here.", { principal: "ada" }).to("memory", { workspace: join(folder, "repo") });
  const taught = await (await teacher.run("learn", lesson)).result();
  await teacher.close();

  await killedWhileUploading(folder);
  const rath = open();
  const [left] = await all(rath.runs({ workflow: "repair" }));
  const run = await rath.resume((left as Run).id);
  const decided = await decide(rath, run);
  await run.result();
  const again = await rath.run("follow", (await rath.open(run.session)).say("Is anything left to do?"));
  const session = await again.result();
  return {
    ...{ folder, rath, open, repair: options.workflows.repair, taught: await rath.open(taught.id), session, decided },
    runs: { repair: run.id, follow: again.id },
    uploads: () => readFile(join(folder, "uploads"), "utf8"),
    [Symbol.asyncDispose]: async () => {
      await rath.close();
      await board[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function upload(folder: string, version: string): Promise<string> {
  await appendFile(join(folder, "uploads"), `${version}\n`);
  return `uploaded ${version}`;
}

/** The first life of the run ends without a word while it uploads. */
async function killedWhileUploading(folder: string): Promise<void> {
  const file = await bundled(new URL("doomed.ts", import.meta.url));
  const child = spawn(process.execPath, [file, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<string | null>((resolve) => child.on("exit", (_, signal) => resolve(signal)));
  for await (const line of createInterface(child.stdout)) if (line === "uploading") child.kill("SIGKILL");
  const signal = await ended;
  if (signal !== "SIGKILL") throw new Error(`The first life ended by ${signal} before it was killed.`);
}

/** What people say to everything that waits, in the order it comes. */
async function decide(rath: Rath, run: Run): Promise<Rich["decided"]> {
  const next = async (kind: Pending["kind"]): Promise<string> => {
    const settled = await run.settle();
    const [pending] = settled.status === "waiting" ? settled.pending : [];
    if (pending?.kind !== kind) throw new Error(`Expected something ${kind} and found: ${JSON.stringify(settled, undefined, 1)}`);
    return pending.id;
  };
  const uploaded = await next("unknown");
  await rath.decide(uploaded, { by: "human:ada", reason: "it is in the bucket", outcome: { type: "ok", value: "uploaded 1.0.1" } });
  const publish = await next("approval");
  await rath.decide(publish, { by: "human:ada", reason: "not to everybody yet", approve: true, input: { version: "1.0.1", tag: "next" } });
  const announce = await next("approval");
  await rath.decide(announce, { by: "human:bob", reason: "it is only a preview", approve: false });
  const day = await next("question");
  await rath.decide(day, { by: "human:ada", answer: "monday" });
  await next("signal");
  await rath.send(run.id, "ci", { build: 42, green: true }, { by: "service:ci", key: "build-42" });
  return { upload: uploaded, publish, announce, day };
}

export async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
