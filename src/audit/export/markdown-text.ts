/** Text of others in Markdown: whatever it holds, it stays text, breaks out of nothing and calls nobody. */
import { counted } from "../../session/counted.ts";
import { neutral } from "../../wire/neutral.ts";

/** A short text on one line, as code: in it no markup, no mention and no reference works. */
export function code(text: string, longest = 120): string {
  const line = cut(neutral(text).replace(/\s+/g, " ").trim(), longest);
  if (line === "") return "(empty)";
  const fence = "`".repeat(longestRun(line, "`") + 1);
  const room = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${fence}${room}${line}${room}${fence}`;
}

/** A block of code. Its fence is longer than any in it. */
export function fenced(text: string, language = "", longest = Number.POSITIVE_INFINITY): string {
  const shown = cut(neutral(text).replace(/\n+$/, ""), longest);
  const fence = "`".repeat(Math.max(3, longestRun(shown, "`") + 1));
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** What is opened by a click. The summary is ours or was made by `summaryCode`. */
export function folded(summary: string, body: string): string {
  return `<details>\n<summary>${summary}</summary>\n\n${body}\n\n</details>`;
}

/** A short text inside of HTML. */
export function summaryCode(text: string, longest = 100): string {
  const line = cut(neutral(text).replace(/\s+/g, " ").trim(), longest);
  return `<code>${line.replace(/[&<>"'`@#]/g, (character) => `&#${character.codePointAt(0)};`)}</code>`;
}

/** As many parts as fit, and how many more there are. */
export function fitting(parts: Iterable<string>, room: number, noun: string, between = "\n\n"): string {
  const kept: string[] = [];
  let [length, left] = [0, 0];
  for (const part of parts) {
    if (left === 0 && length + part.length + between.length <= room) {
      kept.push(part);
      length += part.length + between.length;
    } else left++;
  }
  const rest = left > 0 ? [`*${left} more ${noun} left out here.*`] : [];
  return [...(kept.length > 0 ? [kept.join(between)] : []), ...rest].join("\n\n");
}

function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  // Not between the halves of a character.
  const end = /[\ud800-\udbff]/.test(text.charAt(longest - 1)) ? longest - 1 : longest;
  return `${text.slice(0, end)}… (${counted(text.length - end, "more character")})`;
}

function longestRun(text: string, character: string): number {
  let [longest, run] = [0, 0];
  for (const one of text) {
    run = one === character ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}
