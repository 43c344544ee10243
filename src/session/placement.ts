/** Where a session acts: its placement, the sandbox a tool holds, the files it left behind, and what is on record of all that. */
import type { Duration } from "./span.ts";

/** One file that differs. */
export interface Change {
  /** From the root of the workspace. Bytes that are no UTF-8 are lone surrogates U+DC80 to U+DCFF. */
  readonly path: string;
  readonly kind: "added" | "changed" | "removed";
  /** SHA-256 of the content; of a link, of its target. Absent where there is none or it was not kept. */
  readonly before?: string;
  readonly after?: string;
  /** What changed, when it is not the content. */
  readonly of?: "mode" | "type";
}
/** The files of a session at this place: the tree that was recorded, never a live directory. */
export interface Files {
  /** Names the tree: equal files, equal hash. */
  readonly hash: string;
  /** Paths of files and links, in order; with a glob those that match it. */
  list(glob?: string): AsyncIterable<string>;
  /** The content of a file; links inside the workspace are followed. */
  read(path: string): Promise<Uint8Array>;
  /** As text: UTF-8. */
  text(path: string): Promise<string>;
  /** What differs from other files, in order of paths. Without them: from the files as they were taken from the directory. */
  changes(since?: Files): Promise<readonly Change[]>;
  /**
   * The same difference as a unified patch, for people and for `git apply`. What is in a `.git` stays in the session. That, and what
   * no patch can hold, is named in lines that begin with "#", which `git apply` passes over.
   */
  patch(since?: Files): Promise<string>;
}
/** What `apply` wrote, or would write on a dry run. */
export interface Applied extends ReadonlyArray<Change> {
  /** What the session changed in a `.git` folder, or in the file that stands for one. It stays in the session: hooks and configuration there are programs. */
  readonly leftOut: readonly Change[];
}
/** How files are written back. */
export interface ApplyOptions {
  /** Only says what would be written. */
  readonly dryRun?: boolean | undefined;
  /** Only these files, or what is under these directories. */
  readonly paths?: readonly string[] | undefined;
}
/** A kind of placement. */
export type SandboxName = "local" | "host" | "docker" | "e2b" | "opensandbox" | "cube" | "memory" | (string & {});
/** What a sandbox may reach. */
export type Network = "none" | "all" | { readonly allow: readonly string[] };
/** How a sandbox is to be opened. */
export interface PlacementSpec {
  /** The directory whose files it works on. It is read, and never written before `apply`. */
  readonly workspace?: string | undefined;
  readonly image?: string | undefined;
  /** The whole environment. `true` passes the runtime's own variable of that name; the placement records only the name. What commands print is recorded: declare such a value in `openrath({ secrets })` too. */
  readonly env?: Readonly<Record<string, string | true>> | undefined;
  /** Default: "none". */
  readonly network?: Network | undefined;
  readonly limits?: SandboxLimits | undefined;
}
/** What a sandbox may use. Sizes are like "512mb" or "2gb". */
export interface SandboxLimits {
  readonly memory?: string | undefined;
  /** Of one command. */
  readonly time?: Duration | undefined;
  /** What may be written to the workspace beyond what is there, together. */
  readonly disk?: string | undefined;
  /** Of one file. */
  readonly file?: string | undefined;
  /** Of one command, each of stdout and stderr. */
  readonly output?: string | undefined;
  readonly processes?: number | undefined;
}
/** Where the tools of a session act. */
export interface Placement extends PlacementSpec {
  readonly sandbox: string;
  readonly isolation: string | undefined;
  readonly id: string | undefined;
}
/** What a tool holds of a sandbox. Opens at the first call. Paths are relative to the workspace, or absolute inside the sandbox. */
export interface Sandbox {
  /** Runs a command and waits for it: text is given to a shell, a list is run as it is. A command that fails is a result; it does not reject. */
  exec(command: string | readonly string[], options?: ExecOptions): Promise<CommandResult>;
  read(path: string): Promise<Uint8Array>;
  /** Directories above it are made. */
  write(path: string, content: string | Uint8Array): Promise<void>;
  /** What is in a directory, not below it. */
  list(path?: string): AsyncIterable<SandboxEntry>;
  /** A file, a link, or a directory with all that is in it. Nothing happens when nothing is there. */
  remove(path: string): Promise<void>;
  /** Starts a command that goes on after the call. It sees the files and cannot change them. */
  start?(command: string | readonly string[], options?: { readonly cwd?: string | undefined }): Promise<SandboxProcess>;
  /** A process that was started here. */
  process?(id: string): SandboxProcess | undefined;
}
/** How a command is run. */
export interface ExecOptions {
  readonly cwd?: string | undefined;
  readonly stdin?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; never more than the limit of the placement. */
  readonly timeoutMs?: number | undefined;
  /** Gets output as it comes. */
  readonly onOutput?: ((from: "stdout" | "stderr", text: string) => void) | undefined;
}
/** Something in a directory of a sandbox. */
export interface SandboxEntry {
  /** From the root of the workspace. */
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  /** Permissions, where the sandbox tells. */
  readonly mode?: number | undefined;
  /** Of a link, where the sandbox tells. */
  readonly target?: string | undefined;
}
/** A command that goes on in the background. */
export interface SandboxProcess {
  readonly id: string;
  readonly command: string;
  /** Undefined while it runs. */
  readonly exitCode: number | undefined;
  /** What it wrote since this was last asked. */
  read(): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** Ends it and everything it started. */
  stop(): Promise<void>;
}
/** What a command came to. */
export interface CommandResult {
  /** 128 and the signal's number when a signal ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
  readonly signal?: string | undefined;
  /** The limit that ended it. */
  readonly stopped?: "time" | "output" | "disk" | "memory" | "cancelled" | undefined;
}

/** Where an effect acted, and what it left behind. */
export interface Acted {
  readonly sandbox: string;
  readonly id?: string | undefined;
  readonly isolation: Isolation;
  /** How the files were laid out on disk. */
  readonly workspace?: "overlay" | "reflink" | "copy" | "mirror" | undefined;
  /** Trees: what `session.files.hash` was before and is after. */
  readonly before: string;
  readonly after: string;
  readonly changes: readonly Change[];
  /** How many more there are than are listed; `session.files.changes` has them all. */
  readonly omitted?: number | undefined;
  readonly commands?: readonly CommandRecord[] | undefined;
  readonly started?: readonly { readonly id: string; readonly command: string }[] | undefined;
  readonly ended?:
    | readonly { readonly id: string; readonly exitCode?: number | undefined; readonly reason?: string | undefined }[]
    | undefined;
  /** What it wrote was not kept: a check judges, and a rule may undo. */
  readonly discarded?: true | undefined;
}
/** A command on record, with all it wrote. */
export interface CommandRecord {
  readonly command: string | readonly string[];
  readonly exitCode: number;
  readonly signal?: string | undefined;
  readonly stopped?: CommandResult["stopped"];
  readonly ms: number;
  readonly stdout: string;
  readonly stderr: string;
}
/** A sandbox that was opened, and what became of it, as the own log of the run says that opened it. */
export interface SandboxRecord {
  readonly id: string;
  /** The kind: what `to` named. */
  readonly sandbox: string;
  readonly isolation: Isolation;
  /** How its files were laid out on disk. */
  readonly workspace: Acted["workspace"];
  /** The branch that owned it. */
  readonly session: string;
  /** Whoever opened it: a durable run, a workflow that was called directly, or the effects of one process outside any workflow. */
  readonly run: string;
  /** ISO time. */
  readonly opened: string;
  /**
   * `open`: somebody holds it. `closed`: it was cleaned up. `lost`: its process ended before it could say so; what it left on this disk
   * is listed by `openrath sandbox ls`. `unknown`: the same, or it is open in another process that executes no durable run.
   */
  readonly status: "open" | "closed" | "lost" | "unknown";
  /** When and why it was closed, and what went wrong then. */
  readonly closed: { readonly at: string; readonly reason: string; readonly problem: string | undefined } | undefined;
}
/** How far a sandbox is from its host. */
export type Isolation = "none" | "process" | "namespace" | "container" | "microvm";
