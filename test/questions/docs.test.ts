/** docs/questions.md says how each question is asked: so it is asked by the test of that name, in a program and on the command line. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const read = (file: string) => readFile(new URL(file, import.meta.url), "utf8");
const rows = [...(await read("../../docs/questions.md")).matchAll(/^\| (Q\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
  ([, number = "", question = "", program = "", command = ""]) => ({ number, question, program: spans(program), command: spans(command) }),
);
const programs = bodies((await read("api-questions.ts")) + (await read("api-evidence.ts")));
const commands = bodies((await read("cli-questions.ts")) + (await read("cli-evidence.ts")));

/** What stands between backticks. */
function spans(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

/** The text of each test by its name. */
function bodies(source: string): ReadonlyMap<string, string> {
  const parts = source.split(/^test\("/m).slice(1);
  const named = parts.map((part) => [part.slice(0, part.indexOf('",')), part.slice(part.indexOf('",'))] as const);
  return new Map(named.toSorted(([a], [b]) => Number.parseInt(a.slice(1), 10) - Number.parseInt(b.slice(1), 10)));
}

/** Code without what a formatter may change. */
function plain(code: string): string {
  return code.replace(/\s+/g, "").replace(/,([)\]}])/g, "$1");
}

test("there is a row for each question, and each is asked twice by its own words", () => {
  const asked = rows.map(({ number, question }) => `${number} ${question}`);
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 29 }, (_, index) => `Q${index + 1}`));
  expect([...programs.keys()]).toEqual(asked);
  expect([...commands.keys()]).toEqual(asked);
});

test("what a row says to write is written in the test of its question", () => {
  const missing = rows.flatMap(({ number, question, program }) => {
    const body = plain(programs.get(`${number} ${question}`) ?? "");
    return program.filter((code) => !body.includes(plain(code))).map((code) => `${number}: ${code}`);
  });
  expect(missing).toEqual([]);
});

test("what a row says to type is typed in the test of its question", () => {
  const missing = rows.flatMap(({ number, question, command }) => {
    const body = commands.get(`${number} ${question}`) ?? "";
    const words = command.flatMap((line) => line.split(" ").slice(1));
    // Names of things stand for themselves; what is written small must be there, and --json is what json() adds.
    const typed = words.filter((word) => /^(--)?[a-z][a-z-]*$/.test(word));
    const there = (word: string): boolean =>
      body.includes(`"${word}"`) || (word === "--json" && body.includes("json<")) || (word === "--json" && body.includes("json("));
    return typed.filter((word) => !there(word)).map((word) => `${number}: ${word}`);
  });
  expect(missing).toEqual([]);
});
