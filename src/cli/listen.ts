/** What is said and done while a run goes on: text as it comes, tools as they start and end. */
import type { Settled } from "../runtime/run.ts";
import type { Run } from "../runtime/run-handle.ts";
import type { Outcome } from "../session/message.ts";
import type { StreamPart } from "../session/stream.ts";
import { valueText } from "../wire/event-line.ts";
import type { Cli } from "./cli.ts";
import { clip, json, show } from "./shown.ts";

export interface Heard {
  /** The newest text that was streamed to stdout, so that it is not printed twice. */
  readonly lastText: string | undefined;
  /** Waits for what was said before the run came to this. */
  until(settled: Settled): Promise<void>;
}

/** A stream that ends is read to its end; that of a run which waits goes on when the run does. */
const patienceMs = { ended: 5000, waiting: 100 };

/** On a terminal text goes to stdout as it comes; with --jsonl every part is a line; else nothing is shown on the way. */
export function listen(
  cli: Cli,
  run: Run,
  { after, onEvent }: { readonly after: string | undefined; readonly onEvent: () => void },
): Heard {
  if (!cli.onTerminal && cli.settings.jsonl !== true) return { lastText: undefined, until: async () => {} };
  const voice = new Voice(cli);
  let stopped = false;
  const stream = run.stream({ after });
  const reading = (async () => {
    for await (const part of stream) {
      if (stopped) return;
      if (part.type === "event") onEvent();
      if (cli.settings.jsonl === true) cli.print(json(part));
      else voice.hear(part);
    }
  })().catch(async (error: unknown) => {
    // That the run failed is said by whoever waits for what it comes to.
    const failure = await stream.result().catch((failed: unknown) => failed);
    if (error !== failure) throw error;
  });
  return {
    get lastText() {
      return voice.lastText;
    },
    until: async ({ status }) => {
      const enough = new Promise((resolve) => setTimeout(resolve, status === "waiting" ? patienceMs.waiting : patienceMs.ended).unref());
      await Promise.race([reading, enough]);
      stopped = true;
      voice.end();
    },
  };
}

/** What went wrong, in one line. */
function outcomeText(outcome: Outcome): string {
  const why = "message" in outcome ? outcome.message : "reason" in outcome ? outcome.reason : "";
  return clip(why === "" || why === outcome.type ? outcome.type : `${outcome.type}: ${why}`, 100);
}

/** Where several speak at once, one is heard to the end before the next. */
class Voice {
  lastText: string | undefined;
  readonly #cli: Cli;
  /** What others said meanwhile, by speaker. */
  readonly #held = new Map<string, string>();
  /** Names of tools, by the call. */
  readonly #tools = new Map<string, string>();
  #speaker: string | undefined;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  hear(part: StreamPart): void {
    const { errInk } = this.#cli;
    const speaker = `${part.by} ${part.session}`;
    switch (part.type) {
      case "text-delta":
        if (part.restart === true && speaker === this.#speaker) this.#pause();
        if (this.#speaker === undefined || this.#speaker === speaker) this.#speak(speaker, part.text);
        else this.#held.set(speaker, (this.#held.get(speaker) ?? "") + part.text);
        return;
      case "tool-start":
        this.#pause(speaker);
        this.#tools.set(part.call, part.tool);
        this.#cli.note(show`${errInk.dim("→")} ${part.tool} ${errInk.dim(clip(valueText(part.input), 80))}`);
        return;
      case "tool-end":
        if (part.outcome.type === "ok") return;
        this.#pause(speaker);
        this.#cli.note(show`${errInk.red("→")} ${this.#tools.get(part.call) ?? "tool"} ${errInk.red(outcomeText(part.outcome))}`);
        return;
      case "event":
        if (part.event.kind === "model.returned") this.#pause(speaker);
        // One that is refused ends without having begun.
        if (part.event.kind === "tool.called") this.#tools.set(part.event.id, part.event.data?.name ?? "tool");
        return;
      case "tool-progress":
      case "reasoning-delta":
      case "pending":
        return;
      default:
        part satisfies never;
    }
  }

  /** Nobody says more. */
  end(): void {
    while (this.#speaker !== undefined) this.#pause();
  }

  #speak(speaker: string, text: string): void {
    if (this.#speaker === undefined) this.lastText = "";
    this.#speaker = speaker;
    this.lastText += text;
    this.#cli.stream(text);
  }

  /** Ends the line of whoever speaks, and lets the next one speak who waited. */
  #pause(speaker = this.#speaker): void {
    if (this.#speaker === undefined || speaker !== this.#speaker) return;
    if (this.lastText?.endsWith("\n") !== true) this.#cli.stream("\n");
    this.#speaker = undefined;
    const [next] = this.#held;
    if (next === undefined) return;
    this.#held.delete(next[0]);
    this.#speak(...next);
  }
}
