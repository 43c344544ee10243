/** `openrath tail ID`: what happens on a session and all its branches, or in a run, as it happens, whoever does it. */
import type { Command } from "commander";
import { type FollowOptions, follow } from "../../audit/follow.ts";
import { readEvent } from "../../runtime/load.ts";
import { parkedUnder } from "../../runtime/pending.ts";
import { hasEnded, rowOfRun } from "../../runtime/run-row.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { envelopeOf } from "../../session/codec.ts";
import { type Event, isCalled, isReturned, isStarted } from "../../session/event.ts";
import type { StoredEvent } from "../../store/store.ts";
import { callBehind, eventLine } from "../../wire/event-line.ts";
import { shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits } from "../fault.ts";
import { exitOf } from "../follow-run.ts";
import { wholeOf } from "../options.ts";
import { tabbed } from "../print-list.ts";
import { findOpenRun, openSession, runNamed } from "../sessions.ts";
import { clip, joined, json, show } from "../shown.ts";

interface Options {
  readonly lines: number;
  readonly all?: boolean;
  readonly untilEnd?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("follow a session or a run as it goes on")
    .description(
      "Shows what happens on a session and on every branch of it, or in a run, one line each, whichever process does it. Ends with the run when one is named, with its exit code; else at Ctrl+C.",
    )
    .argument("<id>", "a session or a run")
    .option("-n, --lines <number>", "begin with the newest so many", wholeOf("--lines"), 10)
    .option("-a, --all", "calls and starts too; else a call and its result are one line, when it has one")
    .option("--until-end", "of a session: end when its newest run has ended")
    .action((id: string, options: Options) => tail(cli, id, options));
}

async function tail(cli: Cli, id: string, options: Options): Promise<void> {
  const { runtime, rath } = await cli.project();
  const named = await runNamed(cli, id);
  const run = named ?? (options.untilEnd === true ? await findOpenRun(cli, id) : undefined);
  const session = named?.session ?? (await openSession(cli, id)).id;
  const voice = new Voice(cli, session, options.all === true);
  let first = true;
  let ended = false;
  // Ctrl+C is how it is ended: no error.
  cli.handlesInterrupt = true;
  for await (const look of follow(runtime, session, following(cli))) {
    const events = named === undefined ? look : look.filter((event) => event.run === named.id);
    await voice.hear(first ? newest(runtime, events, options.lines) : events, first ? options.lines : undefined);
    first = false;
    if (ended) break;
    // What it wrote before it ended is seen by the next look.
    if (run !== undefined) ended = hasEnded((await rowOfRun(await runtime.store(), run.id))?.status ?? "");
  }
  if (run === undefined || !ended) {
    // Who reads no more has seen enough: `openrath tail ID | head`.
    cli.exit = cli.host.signal.aborted ? exits.interrupted : exits.ok;
    return;
  }
  const settled = await (await rath.attach(run.id)).settle();
  cli.exit = exitOf(settled, false);
  cli.note(show`${cli.errInk.dim(`run ${run.id} ${settled.status === "failed" ? `failed: ${settled.error.message}` : settled.status}`)}`);
}

function following(cli: Cli): FollowOptions {
  const { signal, unread } = cli.host;
  let told = 0;
  return {
    signal: unread === undefined ? signal : AbortSignal.any([signal, unread]),
    onTrouble: (error) => {
      const now = cli.host.now().getTime();
      if (now - told > 10_000) cli.warn(show`${cli.errInk.yellow("waiting for the store:")} ${error.message}`);
      told = now;
    },
  };
}

/** The newest events, enough for so many lines, with the calls that they are results of. */
function newest({ platform }: Runtime, events: readonly StoredEvent[], lines: number): readonly StoredEvent[] {
  const read = events.map((event) => ({ event, envelope: envelopeOf(platform, event) }));
  read.sort((a, b) => (a.envelope.at < b.envelope.at ? -1 : a.envelope.at > b.envelope.at ? 1 : a.event.step - b.event.step));
  const last = read.slice(-(3 * lines + 3));
  const calls = new Set(
    last.flatMap(({ envelope: { kind, facts, parents } }) => (isReturned(kind) || isStarted(kind) ? [facts.call ?? parents[0]] : [])),
  );
  const recent = new Set(last);
  return read.filter((one) => recent.has(one) || calls.has(one.event.id as never)).map(({ event }) => event);
}

/** Says what happens, a line each. */
class Voice {
  readonly #cli: Cli;
  readonly #session: string;
  readonly #all: boolean;
  /** Calls and starts that have no result yet: what a result is the result of. */
  readonly #open = new Map<string, Event>();
  /** Calls that may wait for a person without saying so, with their runs: those know it when they are parked. */
  readonly #silent = new Map<string, string>();

  constructor(cli: Cli, session: string, all: boolean) {
    this.#cli = cli;
    this.#session = session;
    this.#all = all;
  }

  /** Says events that come after one another, or only the last lines of them. */
  async hear(stored: readonly StoredEvent[], lines: number | undefined): Promise<void> {
    const { runtime } = await this.#cli.project();
    const said: (() => void)[] = [];
    for (const one of stored) {
      const event = await readEvent(runtime.platform, await runtime.store(), one);
      const text = this.#textOf(event);
      if (text !== undefined) said.push(() => this.#say(event, text));
      else if (event.kind === "tool.called" && one.run !== undefined) this.#silent.set(event.id, one.run);
    }
    for (const call of await this.#parkedOn(runtime)) said.push(() => this.#say(call, waiting(eventLine(call, () => undefined))));
    for (const say of lines === undefined ? said : lines === 0 ? [] : said.slice(-lines)) say();
  }

  /** Calls that turn out to wait for a person. */
  async #parkedOn(runtime: Runtime): Promise<readonly Event[]> {
    const calls: Event[] = [];
    for (const run of new Set(this.#silent.values())) {
      const row = await rowOfRun(await runtime.store(), run);
      for (const mark of row?.status === "waiting" ? ((await parkedUnder(runtime, run)) ?? []) : []) {
        const call = this.#silent.delete(mark) ? this.#open.get(mark) : undefined;
        if (call !== undefined) calls.push(call);
      }
    }
    return calls;
  }

  /** Undefined where nothing is to be said. */
  #textOf(event: Event): string | undefined {
    const text = eventLine(event, (id) => this.#open.get(id));
    if (isCalled(event.kind) || isStarted(event.kind)) {
      this.#open.set(event.id, event);
      // What waits for somebody is told when it begins to.
      if (this.#all || this.#cli.asJson) return text;
      return waits(event) ? waiting(text) : undefined;
    }
    if (isReturned(event.kind)) {
      const call = callBehind(event, (id) => this.#open.get(id));
      if (call !== undefined) {
        this.#open.delete(call.id);
        this.#silent.delete(call.id);
      }
    }
    return text;
  }

  #say(event: Event, text: string): void {
    const cli = this.#cli;
    if (cli.asJson) cli.print(json(event));
    else if (!cli.onTerminal) cli.print(tabbed([event.step, event.id, event.kind, event.by, event.at, event.session, text]));
    else {
      const where = event.session === this.#session ? "" : ` ${event.session.slice(0, 8)}`;
      const left = show`${cli.ink.dim(String(event.step).padStart(4))} ${cli.ink.cyan(shortEvent(event.id))}${cli.ink.dim(where)} `;
      cli.print(joined([left, clip(text, Math.max(20, cli.host.out.columns - left.width))]));
    }
  }
}

function waiting(text: string): string {
  return `${text} → no result yet`;
}

/** It says so itself. A tool with a JSON Schema does not, since its input is checked later. */
function waits(event: Event): boolean {
  if (event.kind === "tool.called") return event.data?.approval !== undefined;
  return event.kind === "ask.called" || event.kind === "receive.called" || event.kind === "wait.called";
}
