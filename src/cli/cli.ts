/** One call of the command line: its streams, its settings, how it prints, and how it ends. */
import pc from "picocolors";
import { neutral } from "../wire/neutral.ts";
import { type Exit, exits, Fault } from "./fault.ts";
import type { Open, OpenOptions, Project } from "./project.ts";
import { joined, json, type Showable, Shown, show, toShown } from "./shown.ts";
import type { Host, Terminal } from "./terminal.ts";

/** Options that every command takes. */
export interface Settings {
  readonly json?: boolean | undefined;
  readonly jsonl?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly color?: boolean | undefined;
  readonly ascii?: boolean | undefined;
  readonly config?: string | undefined;
}

export type Ink = Readonly<Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: Showable) => Shown>>;

/** Our own characters, each as wide without Unicode. */
const plainer: Readonly<Record<string, string>> = { "→": ">", "…": "~", "·": "-" };

export class Cli {
  readonly host: Host;
  settings: Settings = {};
  exit: Exit = exits.ok;
  /** A command that cancels its own work at Ctrl+C says so; any other is left where it stands. */
  handlesInterrupt = false;
  readonly #open: Open;
  #project: Promise<Project> | undefined;
  #progress: { clear(): void } | undefined;
  #midLine = false;

  constructor(host: Host, open: Open) {
    this.host = host;
    this.#open = open;
  }

  /** The project's runtime; opened once. A command that only reads makes no store where there is none. */
  project(options: OpenOptions = {}): Promise<Project> {
    this.#project ??= this.#open(this.host, { config: this.settings.config, ...options });
    return this.#project;
  }

  async close(): Promise<void> {
    await this.#project?.then(
      ({ rath }) => rath.close(),
      () => {}, // whoever asked for it was told
    );
  }

  /** Data: one line on stdout. */
  print(line: Shown): void {
    this.#write(this.host.out, `${line.text}\n`);
  }
  /** Data that has no end of line yet. */
  stream(text: string): void {
    this.#write(this.host.out, neutral(text));
  }
  /** For people: one line on stderr, left out with --quiet. */
  note(line: Shown): void {
    if (this.settings.quiet !== true) this.#write(this.host.err, `${line.text}\n`);
  }
  /** For people, and too important for --quiet. */
  warn(line: Shown): void {
    this.#write(this.host.err, `${line.text}\n`);
  }
  /** What to type now. */
  next(...commands: readonly string[]): void {
    for (const command of commands) this.note(show`${this.errInk.dim("next:")} ${command}`);
  }
  /** What to type after that. */
  afterwards(command: string): void {
    this.note(show`${this.errInk.dim("then:")} ${command}`);
  }
  /** Data as JSON: one value, indented; with --jsonl on one line. */
  data(value: unknown): void {
    this.print(json(value, this.settings.jsonl === true ? undefined : 2));
  }

  /** Progress is wiped before anything else is written. */
  draws(progress: { clear(): void } | undefined): void {
    this.#progress = progress;
  }
  /** True while a line on the terminal has no end yet: drawing progress would wipe it. */
  get midLine(): boolean {
    return this.#midLine;
  }
  #write(terminal: Terminal, text: string): void {
    this.#progress?.clear();
    if (terminal.isTTY) this.#midLine = !text.endsWith("\n");
    terminal.write(terminal.isTTY && !this.asJson && this.ascii ? text.replace(/[→…·]/g, (found) => plainer[found] ?? found) : text);
  }

  /** True when data is to be JSON. */
  get asJson(): boolean {
    return this.settings.json === true || this.settings.jsonl === true;
  }
  /** True when data is laid out for a person. */
  get onTerminal(): boolean {
    return this.host.out.isTTY && !this.asJson;
  }
  /** True when somebody can be asked. */
  get canAsk(): boolean {
    return this.host.input.isTTY && this.host.err.isTTY;
  }
  get ascii(): boolean {
    const { LC_ALL, LC_CTYPE, LANG } = this.host.env;
    const locale = LC_ALL || LC_CTYPE || LANG || "";
    return this.settings.ascii === true || (locale !== "" && !/utf-?8/i.test(locale));
  }
  get ink(): Ink {
    return inkFor(this.#colours(this.host.out));
  }
  get errInk(): Ink {
    return inkFor(this.#colours(this.host.err));
  }
  #colours(terminal: Terminal): boolean {
    const { NO_COLOR, TERM } = this.host.env;
    return terminal.isTTY && this.settings.color !== false && (NO_COLOR ?? "") === "" && TERM !== "dumb";
  }

  /** Asks before something is lost. Where nobody can be asked, `--yes` is needed. */
  async confirm(question: string, yes: boolean | undefined): Promise<void> {
    if (yes === true) return;
    if (!this.canAsk) throw new Fault(exits.usage, `${question} Nobody can be asked here: add --yes.`);
    const { confirm } = await import("@clack/prompts");
    const answer = await confirm({ message: neutral(question), output: process.stderr, signal: this.host.signal });
    if (answer !== true) throw new Fault(exits.notAllowed, "Nothing was done.");
  }
}

function inkFor(enabled: boolean): Ink {
  const colours = pc.createColors(enabled);
  const with_ = (paint: (text: string) => string) => (value: Showable) => {
    const shown = toShown(value);
    return new Shown(paint(shown.text), () => shown.width);
  };
  const { bold, dim, red, green, yellow, cyan } = colours;
  return { bold: with_(bold), dim: with_(dim), red: with_(red), green: with_(green), yellow: with_(yellow), cyan: with_(cyan) };
}

/** Words between which a person sees a dot. */
export function dotted(words: readonly Showable[]): Shown {
  return joined(words, " · ");
}
