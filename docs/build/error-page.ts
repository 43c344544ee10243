/** The reference of errors. One table for every code: a new one does not compile until something is said about it here. */
import { exitCodeOf } from "../../src/cli/exit-code.ts";
import { statusOf } from "../../src/server/status.ts";
import { type ErrorCode, RathError } from "../../src/session/errors.ts";
import { blocks, code, plain, table } from "./markdown.ts";

const meanings = {
  "session.no-output": "The session has no output: it waits, failed, or nothing answered yet. `session.stop` says which.",
  "session.not-found": "No session has this id here.",
  "session.ambiguous-id": "Several ids begin like this: write more of it.",
  "session.outer-scope": "The value belongs to a workflow that is still running, or that has ended. Use what it returned, or fork.",
  "session.in-run":
    "A new session was made inside a workflow or an effect, where a resumed run would make another. Use `detach()` or `fork()`.",
  "session.implicit-fork":
    "A value was continued twice, and `implicitForks` is `error`. Use what the first call returned, or fork on purpose.",
  "session.not-here": "The value comes from another copy of the package, or the part it needs is not there yet.",
  "value.unsupported": "JSON cannot keep this value as it is: a function, a cycle, a path with a zero byte.",
  "value.too-large": "The value is larger than what is kept or sent in one piece.",
  "event.unknown-kind": "An event is of a kind that this version does not know.",
  "event.newer-version": "An event was written by a newer version of the package.",
  "event.invalid": "An event does not have the shape of its kind, or there is none with this id.",
  "event.erased": "What is asked for was erased on purpose.",
  "erase.refused": "Erasing would take something that is still in use. Nothing was erased; the message says what is in the way.",
  "erase.unsupported": "This store cannot erase or remove.",
  "effect.failed": "Code, a tool or a model call failed. `error.session` is the session after the failure.",
  "effect.denied": "A person, a policy or a budget said no.",
  "effect.cancelled": "The run or the call was cancelled while the effect was under way.",
  "effect.expired": "Nobody answered before the time was over.",
  "effect.unknown": "A `once` effect began and has no result: whether it happened is not known. A person says so; see `openrath resolve`.",
  "merge.conflict": "The branches changed the same thing differently. `session.conflicts()` lists it, `merge` takes a resolution.",
  "merge.refused": "The branches cannot be merged as they are: the message says what to merge first.",
  "run.not-found": "No run has this id here.",
  "run.key-reused": "The key belongs to a run of another workflow or with another input.",
  "run.busy": "Somebody else executes the run. Attach to it, or wait until its lease ends.",
  "run.fenced": "Another worker took the run over; this one stops and writes nothing more.",
  "run.failed": "The workflow of the run threw.",
  "run.cancelled": "The run was cancelled.",
  "run.ended": "The run has ended: there is nothing to go on with, to send to or to cancel.",
  "run.deadline": "The run had not ended by its deadline.",
  "run.poisoned": "Worker after worker died on this run without recording anything: it is given up.",
  "run.invalid-input": "The input does not fit the schema of the workflow. Nothing was started.",
  "run.diverged": "The workflow does not ask again for what the run recorded: its code changed, or is not deterministic.",
  "run.unknown-workflow": "No workflow has this name here.",
  "run.not-recorded": "The session was not made by a workflow, so there is nothing to execute again.",
  "workflow.invalid": "`forward` returned no session, or a combinator was given something that is no workflow.",
  "agent.invalid": "The options of an agent contradict themselves.",
  "agent.hook-failed": "A hook or a context policy of an agent threw.",
  "tool.invalid": "A tool lacks a description, or its schema cannot be used.",
  "route.invalid": "A Selector has no choices, or one without a description.",
  "model.failed": "The provider refused, failed or fell silent, and retries are over.",
  "model.unknown": "No model has this name here.",
  "model.unavailable": "The package of the provider is not installed or too old.",
  "pending.not-found": "Nothing waits under this id.",
  "pending.answered": "It was answered or expired already; the first answer counts.",
  "pending.invalid-answer": "The answer does not fit the question.",
  "bundle.invalid": "The file is no bundle, or a damaged one.",
  "export.failed": "The export could not be written.",
  "store.corrupt": "What is stored does not fit its hash, or a part of it is gone. `openrath verify` and `openrath db check` say more.",
  "store.newer-format": "The store was written by a newer version of the package. Nothing was changed.",
  "store.older-format": "The database needs `openrath db migrate`. Nothing was changed.",
  "store.closed": "The store was closed.",
  "store.unavailable": "The database cannot be reached, is busy, or does not allow this. Nothing was stored.",
  "store.conflict": "Somebody else wrote first. Read again and decide anew.",
  "sandbox.unknown": "No placement has this name.",
  "sandbox.unavailable": "This machine cannot isolate commands as asked: the message says why and what else there is.",
  "sandbox.failed": "The sandbox could not do it, or was closed.",
  "sandbox.outside": "The path leaves the workspace.",
  "sandbox.denied": "The policy of the placement does not allow this path or command.",
  "workspace.not-found": "There is no such file, directory or line in the recorded files.",
  "workspace.missing": "A content of the recorded files is not in the store.",
  "workspace.invalid": "The path or content cannot be a file of a workspace, or is binary where text is wanted.",
  "workspace.unreadable": "A directory or file cannot be read or written.",
  "workspace.too-large": "The directory has more files or bytes than the limit. List what does not belong in `.openrathignore`.",
  "workspace.changed": "The directory changed since it was read: nothing was written there.",
  "memory.not-found": "There is no such memory.",
  "memory.ambiguous": "Several memories have this key: name one by its address.",
  "memory.changed": "The memory has a newer version than the one that was read.",
  "mcp.unavailable": "The package for MCP is not installed.",
  "mcp.failed": "An MCP server could not be opened, failed or was closed.",
  "request.invalid": "The call does not fit what the route takes.",
  "request.not-found": "There is no such route.",
  "request.not-allowed": "The route does not take this method.",
  "request.timeout": "The body did not come in time.",
  "request.too-large": "The body or the answer is larger than allowed.",
  "request.limited": "Too many calls: the answer says when to come back.",
  "access.unauthenticated": "The call needs a valid key.",
  "access.forbidden": "The key may not do this, or the page comes from another origin.",
  "access.not-found": "There is no such key in this project.",
  "access.conflict": "The key exists already, or has ended.",
  "stream.slow": "The stream was not read fast enough. Come back with the id of the last message.",
  "stream.gone": "The feed has no such place: another store, or one restored from a backup.",
  "server.busy": "The server is stopping or has no room. Ask again later.",
  "server.failed": "The server failed; its log says why.",
  "server.unreachable": "The server did not answer, or the stream was cut off.",
  "rath.closed": "The Rath was closed: open another one.",
} satisfies Record<ErrorCode, string>;

export function errorPage(): string {
  return blocks(
    "# Errors",
    "Everything that OpenRath throws on purpose is a [`RathError`](./api/openrath.md#ratherror) with a `code`. Switch on the code, not on the message: " +
      '`RathError.is(error, "effect.failed")`. `retryable` says whether the same call may go well later, `details` what it is about, and `session` is ' +
      "the value after the failure where there is one.",
    "The last two columns are the HTTP status of a [server](../server.md) and the exit code of the [command line](./cli.md#exit-codes).",
    ...[...byModule()].flatMap(([module, codes]) => [
      `## ${module}`,
      table(
        ["code", "what happened", "HTTP", "exit"],
        codes.map((one) => [code(one), plain(meanings[one]), String(statusOf[one]), String(exitCodeOf(new RathError(one, "")))]),
      ),
    ]),
  );
}

/** The codes by what stands before the dot. */
function byModule(): ReadonlyMap<string, readonly ErrorCode[]> {
  const found = new Map<string, ErrorCode[]>();
  for (const one of Object.keys(meanings) as ErrorCode[]) {
    const module = one.split(".")[0] ?? "";
    found.set(module, [...(found.get(module) ?? []), one]);
  }
  return found;
}
