/** The reference of errors. One table for every code: a new one does not compile until it is said here what it means and what to do next. */
import { exitCodeOf } from "../../src/cli/exit-code.ts";
import { statusOf } from "../../src/server/status.ts";
import { type ErrorCode, RathError } from "../../src/session/errors.ts";
import { blocks, code, plain, table } from "./markdown.ts";

const meanings = {
  "session.no-output": {
    what: "The session has no output: it waits, failed, or nothing answered yet.",
    next: "Look at `session.stop` and `session.pending`; `session.text` never throws.",
  },
  "session.not-found": {
    what: "No session, step or event has this id here.",
    next: "`openrath ls --all`. Check the store: `OPENRATH_HOME`, `OPENRATH_STORE`, tenant and project.",
  },
  "session.ambiguous-id": { what: "Several ids begin like this.", next: "Write more of it." },
  "session.outer-scope": {
    what: "The value belongs to a workflow that is still running, or that has ended.",
    next: "Use what it returned, or fork.",
  },
  "session.in-run": {
    what: "A new session was made inside a workflow or an effect, where a resumed run would make another.",
    next: "Use `detach()` or `fork()`.",
  },
  "session.implicit-fork": {
    what: "A value was continued twice, and `implicitForks` is `error`.",
    next: "Use what the first call returned, or fork on purpose.",
  },
  "session.not-here": {
    what: "The value belongs to another Rath, or to another copy of the package.",
    next: "`rath.open(id)` here; `npm ls openrath` shows copies.",
  },
  "value.unsupported": {
    what: "An option or a value is not of a kind that is taken or can be kept.",
    next: "The message names the field and what to give instead.",
  },
  "value.too-large": {
    what: "The value is larger than what is kept or sent in one piece.",
    next: "Put it into a file of the workspace, or export to a folder.",
  },
  "event.unknown-kind": { what: "An event is of a kind that this version does not know.", next: "Update openrath." },
  "event.newer-version": { what: "An event was written by a newer version of the package.", next: "Update openrath." },
  "event.invalid": {
    what: "An event does not have the shape of its kind, or there is none with this id.",
    next: "`openrath verify ID`; give whole ids to `erase`.",
  },
  "event.erased": {
    what: "What is asked for was erased on purpose.",
    next: "Nothing brings it back. `openrath log ID` shows the entry that says who and why.",
  },
  "erase.refused": {
    what: "Erasing would take something that is still in use. Nothing was erased.",
    next: "End or cancel the run that the message names, then erase again.",
  },
  "erase.unsupported": {
    what: "This store cannot erase or remove.",
    next: "Use one of the built-in stores, or give yours `erase` and `remove`.",
  },
  "effect.failed": {
    what: "Code, a tool or a model call failed.",
    next: "`error.cause` is why, `error.session` the session after the failure: go on from there, or fork before it.",
  },
  "effect.denied": { what: "A person, a policy or a budget said no.", next: "The message says which. `error.session` goes on." },
  "effect.cancelled": {
    what: "The run or the call was cancelled while the effect was under way.",
    next: "Start another run, or fork before it.",
  },
  "effect.expired": { what: "Nobody answered before the time was over.", next: "Ask again with a longer `expires`." },
  "effect.unknown": {
    what: "A `once` effect began and has no result: whether it happened is not known.",
    next: "Look in the world, then `openrath resolve ID --ok`, `--error` or `--again`.",
  },
  "merge.conflict": {
    what: "The branches changed the same thing differently.",
    next: "`session.conflicts(other)` lists it; `merge(other, { conflicts })` settles it.",
  },
  "merge.refused": { what: "The branches cannot be merged as they are.", next: "The message says what to merge or to wait for first." },
  "run.not-found": { what: "No run has this id here.", next: "`openrath ls --runs`." },
  "run.key-reused": {
    what: "The key belongs to a run of another workflow or with another input.",
    next: "Use another key, or the input that the key had.",
  },
  "run.busy": { what: "Somebody else executes the run.", next: "`rath.attach(id)`, or wait until its lease ends (seconds)." },
  "run.fenced": {
    what: "Another worker took the run over; this one stops and writes nothing more.",
    next: "Nothing: the other one goes on. If it comes often, something blocks the event loop for longer than a lease.",
  },
  "run.failed": {
    what: "The workflow of the run threw.",
    next: "`error.cause`, `openrath show RUN`; fork before the failure, or start another run.",
  },
  "run.cancelled": { what: "The run was cancelled.", next: "Start another run, with another key." },
  "run.ended": {
    what: "The run has ended: there is nothing to go on with, to send to or to cancel.",
    next: "`openrath show RUN` says how; start another run.",
  },
  "run.deadline": {
    what: "The run had not ended by its deadline.",
    next: "Start another run with a later one, from the session it came to.",
  },
  "run.poisoned": {
    what: "Worker after worker died on this run without recording anything: it is given up.",
    next: "Find out what kills the process; then fork its session and start another run.",
  },
  "run.invalid-input": {
    what: "The input does not fit the schema of the workflow. Nothing was started.",
    next: "Mend the input; the message says what does not fit.",
  },
  "run.diverged": {
    what: "The workflow does not ask again for what the run recorded: its code changed, or is not deterministic.",
    next: '`openrath replay ID` shows where. Put the code back, or resume with `onDivergence: "fork"` or `"fail"`.',
  },
  "run.unknown-workflow": {
    what: "No workflow has this name here.",
    next: "Name it in `openrath({ workflows })`, or say `--workflow FILE`.",
  },
  "run.not-recorded": {
    what: "The session was not made by a workflow, so there is nothing to execute again.",
    next: "Start work with `rath.run(workflow, session)`.",
  },
  "workflow.invalid": {
    what: "`forward` returned no session, or a combinator was given something that is no workflow.",
    next: "Return the last value that was made.",
  },
  "agent.invalid": { what: "The options of an agent contradict themselves.", next: "The message names the option." },
  "agent.hook-failed": {
    what: "A hook or a context policy of an agent threw, or gave what cannot be used.",
    next: "Mend it; to refuse something, return that instead of throwing.",
  },
  "tool.invalid": { what: "A tool lacks a description, or its schema cannot be used.", next: "The message says what to give." },
  "route.invalid": { what: "A Selector has no choices, or one without a description.", next: "The message says what to give." },
  "model.failed": {
    what: "The provider refused, failed or fell silent, and retries are over.",
    next: "`retryable` says whether to try later; `error.cause` is what the provider said.",
  },
  "model.unknown": { what: "No model has this name here.", next: "Write `provider/model`, or name it in `openrath({ models })`." },
  "model.unavailable": {
    what: "The package of the provider is not installed or too old, or its key is not set.",
    next: "Install what the message names, set the variable; `openrath doctor` shows both.",
  },
  "pending.not-found": { what: "Nothing waits under this id.", next: "`openrath approvals`." },
  "pending.answered": {
    what: "It was answered or expired already; the first answer counts.",
    next: "`openrath log ID` shows who answered what.",
  },
  "pending.invalid-answer": { what: "The answer does not fit the question.", next: "`openrath approvals show ID` says what fits." },
  "bundle.invalid": {
    what: "The file is no bundle, or a damaged one. Nothing was imported.",
    next: "Export it again: `openrath export ID FILE`.",
  },
  "export.failed": { what: "The export could not be written.", next: "The message says why; export again." },
  "store.corrupt": {
    what: "What is stored does not fit its hash, or a part of it is gone.",
    next: "`openrath db check --all`, `openrath verify ID`; restore a backup into a new database.",
  },
  "store.newer-format": { what: "The store was written by a newer version of the package. Nothing was changed.", next: "Update openrath." },
  "store.older-format": {
    what: "The database is of an older format, and was opened with `migrate: false`. Nothing was changed.",
    next: "`openrath db backup`, then `openrath db migrate`.",
  },
  "store.closed": { what: "The store was closed.", next: "Open another one." },
  "store.unavailable": {
    what: "The database cannot be opened or reached, is busy, or does not allow this.",
    next: "The message says which. After an append whose outcome is unknown, read before you repeat it.",
  },
  "store.conflict": { what: "Somebody else wrote first.", next: "Read again and decide anew." },
  "sandbox.unknown": {
    what: "No placement has this name.",
    next: "Use `local`, `memory` or `host`, or give a backend in `openrath({ sandboxes })`.",
  },
  "sandbox.unavailable": {
    what: "This machine cannot isolate commands as asked, or the session is not placed.",
    next: "The message says why and what else there is; `openrath doctor`.",
  },
  "sandbox.failed": { what: "The sandbox could not do it, or was closed.", next: "Open another one: the next effect does." },
  "sandbox.outside": { what: "The path leaves the workspace.", next: "Give a path in it." },
  "sandbox.denied": {
    what: "The policy of the placement does not allow this path or command.",
    next: "Ask for less, or change the policy on purpose.",
  },
  "workspace.not-found": {
    what: "There is no such file, directory or line in the recorded files.",
    next: "`session.files.list()`; look at the step with `openrath show ID@STEP`.",
  },
  "workspace.missing": {
    what: "A content of the recorded files is not in the store.",
    next: "`openrath verify ID` shows what else is; restore a backup.",
  },
  "workspace.invalid": {
    what: "The path or content cannot be a file of a workspace, or is binary where text is wanted.",
    next: "The message names the path.",
  },
  "workspace.unreadable": {
    what: "A directory or file cannot be read or written.",
    next: "Give permission, or list it in `.openrathignore`.",
  },
  "workspace.too-large": {
    what: "The directory has more files or bytes than the limit.",
    next: "List what does not belong in `.openrathignore`, or raise the limit.",
  },
  "workspace.changed": {
    what: "The directory changed since it was read: nothing was written there.",
    next: "Undo that, leave these paths out, or merge `files.patch()` by hand.",
  },
  "memory.not-found": { what: "There is no such memory.", next: "`openrath memory ls --all`." },
  "memory.ambiguous": { what: "Several memories have this key.", next: "Name one by its uri." },
  "memory.changed": { what: "The memory has a newer version than the one that was read.", next: "Recall it and decide again." },
  "mcp.unavailable": { what: "The package for MCP is not installed.", next: "Install what the message names." },
  "mcp.failed": {
    what: "An MCP server could not be opened, failed or was closed.",
    next: "`openrath mcp test` tries it; the message has what it said.",
  },
  "request.invalid": {
    what: "The call does not fit what the route takes.",
    next: "`details.problems` names each field; see `/openapi.json`.",
  },
  "request.not-found": { what: "There is no such route or job.", next: "See `/openapi.json`." },
  "request.not-allowed": { what: "The route does not take this method.", next: "`details.allow` lists those it takes." },
  "request.timeout": { what: "The body did not come in time.", next: "Send it again." },
  "request.too-large": {
    what: "The body or the answer is larger than allowed.",
    next: "Send or ask for less; `GET /v1/info` has the limits.",
  },
  "request.limited": { what: "Too many calls.", next: "Come back after `Retry-After` seconds." },
  "access.unauthenticated": {
    what: "The call needs a valid key.",
    next: "`openrath keys create --role operator`; send it as `Authorization: Bearer rath_…`.",
  },
  "access.forbidden": {
    what: "The key may not do this, or the page comes from another origin.",
    next: "The message names the permission, or the option of `openrath serve`.",
  },
  "access.not-found": { what: "There is no such key in this project.", next: "`openrath keys ls --all`." },
  "access.conflict": { what: "The key exists already, or has ended.", next: "Make another one." },
  "stream.slow": { what: "The stream was not read fast enough.", next: "Come back with the id of the last message as `Last-Event-ID`." },
  "stream.gone": { what: "The feed has no such place: another store, or one restored from a backup.", next: "Read it from the beginning." },
  "server.busy": { what: "The server is stopping or has no room.", next: "Ask again later, or another server." },
  "server.failed": { what: "The server failed.", next: "Its log says why, by the `x-request-id` of the answer." },
  "server.unreachable": { what: "The server did not answer, or the stream was cut off.", next: "Check the address; `GET /v1/health`." },
  "rath.closed": { what: "The Rath was closed.", next: "Open another one." },
} satisfies Record<ErrorCode, { readonly what: string; readonly next: string }>;

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
        ["code", "what happened", "what next", "HTTP", "exit"],
        codes.map((one) => [
          code(one),
          plain(meanings[one].what),
          plain(meanings[one].next),
          String(statusOf[one]),
          String(exitCodeOf(new RathError(one, ""))),
        ]),
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
