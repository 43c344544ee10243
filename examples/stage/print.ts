/** Lines of an example. */
import { styleText } from "node:util";

/** What the terminal has; piped, what most have. */
export const columns = process.stdout.columns ?? 80;

export function heading(text: string): void {
  console.log(`\n${ink("bold", text)}`);
}

/** What something is called, and what it is. */
export function fact(name: string, text: string): void {
  // A longer name has a line of its own, so that what is said stays in its column.
  const above = name.length > 9 ? name : "";
  if (above !== "") console.log(`  ${above}`);
  for (const [index, line] of folded(text, columns - 12).entries())
    console.log(`  ${(index === 0 && above === "" ? name : "").padEnd(9)} ${line}`);
}

export function ink(colour: Parameters<typeof styleText>[0], text: string): string {
  return process.stdout.isTTY && process.env["NO_COLOR"] === undefined ? styleText(colour, text) : text;
}

/** Lines of so many characters. */
export function folded(text: string, room: number): readonly string[] {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= room) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}
