/** The quick start of the README, as it stands there: the program with what it says it prints, and the first commands. */
import { readFileSync } from "node:fs";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");

/** The first block of a language under a heading. */
function block(heading, language) {
  const section = readme.slice(readme.indexOf(`\n## ${heading}\n`));
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(section)?.[1];
  if (section === readme || found === undefined) throw new Error(`README.md has no ${language} block under "${heading}"`);
  return found;
}

export const program = block("An example", "ts");
export const commands = block("A project", "sh");

/** What the comments behind `console.log` promise, in order. */
export const printed = [...program.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
if (printed.length === 0) throw new Error("README.md: its example says nothing about what it prints");
