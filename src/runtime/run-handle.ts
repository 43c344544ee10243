/** A handle on a run: what anybody may ask of it, whoever executes it. */
import { RathError } from "../session/errors.ts";
import { givenName, givenOptions } from "../session/given.ts";
import type { RunStatus, Session } from "../session/session.ts";
import type { Stream } from "../session/stream.ts";
import type { RunRow } from "../store/store.ts";
import { Reminders } from "./remind.ts";
import type { RunExecution, Settled } from "./run.ts";
import { loadRun } from "./run-record.ts";
import { hasEnded } from "./run-row.ts";
import { canBeFollowed, runStream } from "./run-stream.ts";
import { settledOf } from "./run-view.ts";
import type { Runtime } from "./runtime.ts";

/** A handle on a durable run, whoever executes it. */
export interface Run<out Output = unknown> {
  /** What `rath.attach` and `rath.resume` take. */
  readonly id: string;
  /** The name it was started under. */
  readonly workflow: string;
  /** The branch it continues: the one it was given, or the fork made because somebody else was writing it. */
  readonly session: string;
  /** The session as it was given to the run: what everything in it began from. */
  input(): Promise<Session>;
  /** As stored now, whoever executes it. */
  status(): Promise<RunStatus>;
  /** Resolves when the run cannot go on by itself: ended, failed, cancelled, or waiting for a person or timer. Never rejects for these. */
  settle(): Promise<Settled<Output>>;
  /** The final session, with the id it was given; rejects if the run failed or was cancelled. Waits through waiting. */
  result(): Promise<Session<Output>>;
  /** What happened and happens, whoever executes it; `after` is the id of the last event that was seen. Ends with the run. */
  stream(options?: { readonly after?: string | undefined }): Stream<Output>;
  /**
   * Durable, from any process: the request outlives whoever made it and reaches a running model call, tool or command within a
   * second. Effects in flight are aborted and recorded as cancelled. A run that has ended refuses with `run.ended`. `by` is who asks;
   * "user" when left out.
   */
  cancel(reason?: string, options?: { readonly by?: string | undefined }): Promise<void>;
}

interface Access {
  row(id: string): Promise<RunRow>;
  /** Where it is executed here. */
  executing(id: string): RunExecution | undefined;
  /** Where it waits here for what it recorded to be asked for again. */
  paused(id: string): RunExecution | undefined;
  /** Looks for news of the runs that wait here. */
  look(): Promise<void>;
  cancel(id: string, reason: string, by?: string): Promise<void>;
  /** Hears which logs have grown, where the store tells. */
  listen(hear: (logs: readonly string[]) => void): () => void;
}

const pollMs = 250;

export function handleOf<Output>(runtime: Runtime, { id, workflow, session }: RunRow, access: Access): Run<Output> {
  const settle = (): Promise<Settled<Output>> => settled(runtime, id, access) as Promise<Settled<Output>>;
  const streamed = {
    id,
    session,
    executing: () => access.executing(id),
    settle,
    cancel: (reason: string) => access.cancel(id, reason),
    listen: (hear: (logs: readonly string[]) => void) => access.listen(hear),
  };
  const handle: Run<Output> = {
    id,
    workflow,
    session,
    status: async () => {
      runtime.assertOpen();
      return (await access.row(id)).status as RunStatus;
    },
    settle,
    input: async () => {
      runtime.assertOpen();
      return runtime.outside((await loadRun(runtime, id)).input);
    },
    result: async () => {
      const reminders = new Reminders(runtime.times.remindMs);
      for (;;) {
        const now = await settle();
        if (now.status === "done") return now.session;
        if (now.status === "failed") throw now.error;
        if (now.status === "cancelled")
          throw new RathError("run.cancelled", `Run ${id} was cancelled: ${now.reason}.`, { session: now.session });
        if (now.diverged !== undefined)
          throw new RathError(
            "run.diverged",
            `Run ${id} diverged ${now.diverged.text}. Put its code back, or resume it with { onDivergence: "fork" | "fail" }.`,
            {
              session: now.session,
              details: { ...now.diverged },
            },
          );
        for (const message of reminders.due(id, now.pending, runtime.platform.elapsed())) runtime.warn(message);
        await access.look();
        if (access.executing(id) === undefined) await later();
        runtime.assertOpen();
      }
    },
    stream: (options = {}) => runStream<Output>(runtime, { ...streamed, after: options.after }),
    cancel: async (reason = "cancelled", options = {}) => {
      const { by } = givenOptions(options, ["by"], "cancel");
      await access.cancel(id, reason, by === undefined ? undefined : givenName(by, "cancel.by"));
    },
  };
  canBeFollowed(runtime, handle, streamed);
  return handle;
}

async function settled(runtime: Runtime, id: string, access: Access): Promise<Settled> {
  for (;;) {
    runtime.assertOpen();
    const executing = access.executing(id);
    if (executing !== undefined) {
      const here = await executing.settled;
      // One that was taken over has not failed: it goes on elsewhere.
      if (here.status !== "failed" || here.error.code !== "run.fenced") return here;
    }
    const { status } = await access.row(id);
    const paused = status === "waiting" ? access.paused(id) : undefined;
    if (paused !== undefined) return paused.settled;
    if (hasEnded(status) || status === "waiting") {
      const found = settledOf(runtime, await loadRun(runtime, id), status);
      if (found !== undefined) return found;
    }
    await later();
  }
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollMs));
}

/** Runs that `rath.run` gave and that had been started with their key before, here or by somebody who was faster. */
export const startedBefore = new WeakSet<Run>();
