/** Errors as people read them: what happened and why in one sentence, then the next command. */
import { type ErrorCode, RathError } from "../session/errors.ts";
import { refusalOf } from "../session/thrown.ts";
import type { Cli } from "./cli.ts";
import { exitCodeOf } from "./exit-code.ts";
import { type Exit, Fault } from "./fault.ts";
import { json, show } from "./shown.ts";

const nextOf: Partial<Record<ErrorCode, string>> = {
  "session.not-found": "openrath ls --all",
  "session.ambiguous-id": "openrath ls --all",
  "run.unknown-workflow": "name it in openrath.config.ts, or say where it is: --workflow FILE",
  "run.not-found": "openrath ls --runs",
  "run.ended": "openrath ls --runs",
  "run.key-reused": "run it with another --key",
  "run.busy": "try again when the other process has ended",
  "run.diverged": "openrath replay ID, to see where",
  "pending.not-found": "openrath approvals ls",
  "pending.answered": "openrath approvals ls",
  "store.corrupt": "openrath db check",
  "store.older-format": "openrath db migrate",
  "store.newer-format": "npm install openrath@latest",
  "workspace.changed": "leave those paths out with --paths, or undo what changed in the directory",
  "workspace.missing": "openrath verify ID",
  "memory.not-found": "openrath memory ls --all",
  "memory.ambiguous": "name it by its uri",
  "memory.changed": "openrath memory ls, then try again",
  "sandbox.unavailable": "openrath doctor",
  "bundle.invalid": "openrath export ID FILE makes one",
};

/** Prints an error and gives the exit code it ends with. */
export function reportError(cli: Cli, error: unknown): Exit {
  const exit = exitCodeOf(error);
  // A command may say in its own words what it was refused for; the reason stays the same for scripts.
  const reason = error instanceof Fault ? error.cause : error;
  const code = RathError.is(reason) ? reason.code : undefined;
  const next = error instanceof Fault ? error.next : RathError.is(error) ? nextAfter(error) : undefined;
  const message = messageOf(error);
  if (cli.asJson) {
    cli.warn(json({ error: { code: code ?? null, message, exit, next: next ?? null } }));
    return exit;
  }
  cli.warn(show`${cli.errInk.red("error:")} ${message}`);
  // An error that nobody foresaw is a bug, of a program or of ours: where it happened is worth knowing.
  if (code === undefined && !(error instanceof Fault) && error instanceof Error && error.stack !== undefined && !isRefusal(error))
    cli.note(cli.errInk.dim(error.stack.slice(error.stack.indexOf("\n") + 1)));
  if (next !== undefined) cli.warn(show`${cli.errInk.dim("next:")} ${next}`);
  return exit;
}

function nextAfter({ code, session, details }: RathError): string | undefined {
  // A file of another program: no command of ours makes a better one.
  if (code === "bundle.invalid" && details["file"] !== undefined) return undefined;
  // The session is there; the place in it is not.
  return code === "session.not-found" && session !== undefined ? `openrath log ${session.id} --oneline` : nextOf[code];
}

/** The system refused a file or a folder, which is named: no bug. */
function isRefusal(error: Error): error is NodeJS.ErrnoException & { readonly path: string } {
  const { syscall, path } = error as NodeJS.ErrnoException;
  return syscall !== undefined && path !== undefined;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isRefusal(error)) return `${error.path}: ${refusalOf(error)} (${error.syscall}).`;
  return error.message === "" ? error.name : error.message;
}
