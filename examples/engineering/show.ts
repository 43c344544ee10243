/** What is printed: what happens while it happens, and what was proved. */
import { pathToFileURL } from "node:url";
import { styleText } from "node:util";
import type { Event, Run, Session } from "openrath";

type Colour = Parameters<typeof styleText>[0];
const columns = 100;

function ink(colour: Colour, text: string): string {
  return process.stdout.isTTY && process.env["NO_COLOR"] === undefined ? styleText(colour, text) : text;
}

export function heading(text: string): void {
  console.log(`\n${ink("bold", text)}`);
}

/** What something is called, and what it is. */
export function fact(name: string, text: string): void {
  for (const [index, line] of folded(text, columns - 12).entries()) console.log(`  ${(index === 0 ? name : "").padEnd(9)} ${line}`);
}

export function patch(text: string): void {
  fact("patch", "");
  for (const line of text.trimEnd().split("\n")) {
    if (/^(diff|index) /.test(line)) continue;
    const colour = /^(---|\+\+\+)/.test(line) ? "dim" : line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined;
    console.log(`    ${colour === undefined ? line : ink(colour, line)}`);
  }
}

export interface Shown {
  readonly session: Session;
  /** How many answers and verdicts were there before. */
  readonly recorded: number;
}

/** Prints what a run does until it ends; what an earlier process left on record is only counted. `began` is when the clock started. */
export async function show(run: Run, began: number, watch: (what: "command" | "compressed" | "judged") => void = () => {}): Promise<Shown> {
  const since = new Date().toISOString();
  const labels = new Map<string, string | undefined>();
  let recorded = 0;
  const stream = run.stream();
  for await (const part of stream) {
    if (part.type === "tool-progress") watch("command");
    if (part.type !== "event") continue;
    const { event } = part;
    if (event.kind === "session.forked") labels.set(event.session, event.data.label);
    const line = lineOf(event);
    // A rejection bears the time of what it is about.
    if (line !== undefined && event.at < since && event.kind !== "session.rejected") recorded++;
    else if (line !== undefined) {
      const role = part.by.split("/")[1] ?? part.by;
      const at = `${((Date.now() - began) / 1000).toFixed(1)} s`.padStart(7);
      tell(`${ink("dim", at)}  ${role.padEnd(8)}  ${(labels.get(event.session) ?? "").padEnd(8)}  `, ...line);
    }
    if (event.kind === "context.compressed") watch("compressed");
    if (event.kind === "check.returned") watch("judged");
  }
  return { session: await stream.result(), recorded };
}

/** Calls and answers are cut to a line; what decides something is told whole. */
function tell(before: string, colour: Colour | undefined, text: string): void {
  const words = text.replace(/\s+/g, " ").trim();
  const room = columns - indent;
  const lines = colour === undefined ? [words.length > room ? `${words.slice(0, room - 1)}…` : words] : folded(words, room);
  for (const [index, line] of lines.entries())
    console.log(`${index === 0 ? before : " ".repeat(indent)}${colour === undefined ? line : ink(colour, line)}`);
}
const indent = 29;

/** Lines of so many characters. */
function folded(text: string, room: number): readonly string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= room) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

/** What is said of an event; most are not told. */
function lineOf(event: Event): readonly [Colour | undefined, string] | undefined {
  switch (event.kind) {
    case "model.returned": {
      const { parts = [] } = event.data;
      const calls = parts.flatMap((piece) => (piece.type === "call" ? [wanted(piece.tool, piece.input)] : []));
      const text = parts.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
      return calls.length > 0 ? [undefined, calls.join(", ")] : text === "" || text.startsWith("{") ? undefined : [undefined, text];
    }
    case "check.returned":
      return event.data.passed === true ? ["green", `✓ ${event.data.reason}`] : ["red", `✗ ${event.data.reason}`];
    case "recall.returned": {
      const found = (event.data.value ?? []) as readonly { readonly key: string; readonly content: string }[];
      return found.length === 0
        ? ["dim", "recalls nothing that fits"]
        : ["cyan", `recalls ${found.map(({ key, content }) => `"${key}": ${content}`).join("; ")}`];
    }
    case "remember.called":
      return ["cyan", `remembers "${event.data.key}": ${String(event.data.content)}`];
    case "session.rejected":
      return ["red", `✗ rejected: ${event.data.reason}`];
    case "context.compressed":
      return event.data.policy === "summary"
        ? ["yellow", "what it has read is replaced by a summary; the record keeps all of it"]
        : undefined;
    case "agent.stopped":
      return event.data.stop === "finished" ? undefined : ["yellow", `stops: ${event.data.reason ?? event.data.stop}`];
    default:
      return undefined;
  }
}

/** A call in a few words. What a model wrote need not be JSON. */
function wanted(tool: string, input: string): string {
  const [, name, value = ""] = /"(path|command)":"((?:[^"\\]|\\.)*)"/.exec(input) ?? [];
  return `${tool} ${name === "command" ? "$ " : ""}${value.replaceAll('\\"', '"')}`;
}

const proved: string[] = [];

/** Nothing is claimed that does not hold. */
export function prove(holds: boolean, claim: string): void {
  if (!holds) throw new Error(`not proved: ${claim}`);
  proved.push(claim);
}

export function whatWasProved(): void {
  heading("What was proved");
  for (const claim of proved)
    for (const [index, line] of folded(claim, columns - 4).entries()) console.log(`  ${index === 0 ? ink("green", "✓") : " "} ${line}`);
}

export function whereToLook(pages: readonly string[], command: string, began: number): void {
  heading(`Where to look, after ${((Date.now() - began) / 1000).toFixed(1)} s`);
  for (const page of pages) fact("dossier", pathToFileURL(page).href);
  fact("inspector", "");
  console.log(`  ${command}`);
}
