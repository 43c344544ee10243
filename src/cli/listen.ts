/** What is said and done while a run goes on: text as it comes, tools as they start and end. */
import type { Run } from "../runtime/runs.ts";
import type { Stream, StreamPart } from "../session/stream.ts";
import type { Cli } from "./cli.ts";
import { valueText } from "./event-line.ts";
import { clip, json, show } from "./shown.ts";

export interface Heard {
  /** The newest text that was streamed to stdout without a break, so that it is not printed twice. */
  readonly lastText: string | undefined;
  stop(): Promise<void>;
}

/** On a terminal text goes to stdout as it comes; with --jsonl every part is a line; else nothing is shown on the way. */
export function listen(cli: Cli, run: Run): Heard {
  const streams = run as Partial<{ stream(): Stream }>;
  if (streams.stream === undefined || !(cli.onTerminal || cli.settings.jsonl === true))
    return { lastText: undefined, stop: async () => {} };
  const voice = new Voice(cli);
  const parts = streams.stream()[Symbol.asyncIterator]();
  let stopped = false;
  const reading = (async () => {
    for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
      if (cli.settings.jsonl === true) cli.print(json(next.value));
      else voice.hear(next.value);
      if (stopped) break;
    }
  })().catch(() => {}); // what went wrong is in what the run came to
  return {
    get lastText() {
      return voice.lastText;
    },
    stop: async () => {
      // What was recorded before the run settled is on its way.
      await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 50))]);
      stopped = true;
      voice.pause();
    },
  };
}

class Voice {
  lastText: string | undefined;
  readonly #cli: Cli;
  #speaker: string | undefined;
  #open = false;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  hear(part: StreamPart): void {
    const { errInk } = this.#cli;
    switch (part.type) {
      case "text-delta": {
        const speaker = `${part.session} ${part.by}`;
        if (!this.#open || speaker !== this.#speaker) {
          this.pause();
          this.lastText = "";
        }
        this.#speaker = speaker;
        this.#open = true;
        this.lastText += part.text;
        this.#cli.stream(part.text);
        return;
      }
      case "tool-start":
        this.pause();
        this.#cli.note(show`${errInk.dim("→")} ${part.tool} ${errInk.dim(clip(valueText(part.input), 80))}`);
        return;
      case "tool-end":
        this.pause();
        if (part.outcome.type !== "ok")
          this.#cli.note(show`${errInk.red(part.outcome.type)} ${errInk.dim(clip(valueText(part.outcome), 100))}`);
        return;
      case "tool-progress":
      case "reasoning-delta":
      case "pending":
      case "event":
        return;
      default:
        part satisfies never;
    }
  }

  /** Ends the line that is being written. */
  pause(): void {
    if (this.#open && this.lastText?.endsWith("\n") !== true) this.#cli.stream("\n");
    this.#open = false;
  }
}
