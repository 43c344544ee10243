/**
 * The sandbox port: where commands run. A backend opens sandboxes; what it can do it says in `capabilities`, and what it cannot
 * is an error by name, never something weaker. The runtime owns the files: before a command it brings the workspace to the
 * recorded tree, after it the tree is recorded. Backends keep no transcript and no state that outlives `asyncDispose`.
 */
import type { Isolation, Network, Sandbox, SandboxLimits } from "../session/session.ts";

export type {
  CommandRecord,
  CommandResult,
  ExecOptions,
  Isolation,
  Network,
  Sandbox,
  SandboxEntry,
  SandboxLimits,
  SandboxProcess,
} from "../session/session.ts";

/**
 * What a third party writes. Plain object; `sandboxConformance` of `openrath/testing` checks it.
 *
 * @example
 * const backend: SandboxBackend = {
 *   kind: "vm",
 *   capabilities: { isolation: "microvm", network: true, fork: false, snapshot: false },
 *   open: async ({ session, env }) => boot(session, env),
 * };
 * const rath = openrath({ sandboxes: { vm: backend } });
 */
export interface SandboxBackend {
  readonly kind: string;
  readonly capabilities: SandboxCapabilities;
  open(spec: SandboxSpec): Promise<OpenSandbox>;
  /** A sandbox that is still open from an earlier process. */
  attach?(id: string): Promise<OpenSandbox | undefined>;
  /** Sandboxes that are open, whoever opened them. */
  list?(): AsyncIterable<{ readonly id: string; readonly session: string }>;
  /** Whether it can open one here and now; rejects with `sandbox.unavailable`, which says what to do. */
  ready?(): Promise<void>;
}

/** What a backend can do. */
export interface SandboxCapabilities {
  readonly isolation: Isolation;
  /** It can keep commands off the network. */
  readonly network: boolean;
  readonly fork: boolean;
  readonly snapshot: boolean;
  /**
   * Commands work in `spec.directory` itself, so that host and sandbox see one set of files. Without it the runtime carries files
   * in and out through `read`, `write`, `list` and `remove`.
   */
  readonly directory?: boolean | undefined;
}

/** How a sandbox is opened. */
export interface SandboxSpec {
  /** The branch that owns it. */
  readonly session: string;
  /** The workspace on the host, for backends that work in it. */
  readonly directory: string | undefined;
  readonly network: Network;
  readonly env: Readonly<Record<string, string>>;
  readonly image?: string | undefined;
  readonly limits?: SandboxLimits | undefined;
  /** The directory lives in namespaces of its own: the command that enters them, and where it is in there. */
  readonly inside?: { readonly enter: readonly string[]; readonly directory: string } | undefined;
  /** Directories of the host that are seen read-only at a path of the workspace. */
  readonly layers?: readonly { readonly path: string; readonly from: string }[] | undefined;
  /** How much was written to the workspace; asked while a command runs, so that it can be stopped at its limit, and before and after it. */
  readonly written?: ((when?: "begin" | "during" | "end") => Promise<number>) | undefined;
}

/** An open sandbox. Disposing of it ends every process in it. */
export interface OpenSandbox extends Sandbox, AsyncDisposable {
  readonly id: string;
  fork?(): Promise<OpenSandbox>;
}
