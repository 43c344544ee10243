/**
 * Scripts in place of the models, for a run without a key. They know a hasty patch and a right one for each repository, and take the
 * right one only when they have read what it takes: a lesson from a failure, recalled from memory or given by the reviewer. What the
 * reviewer says, it reads out of the output of the tests. So what a run does depends on what is on record, as with any other model.
 */
import { type ModelRequest, scripted } from "openrath";
import type { Reply } from "openrath/model";

type Message = ModelRequest["messages"][number];

function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  if (message.role === "system") return message.text;
  if (message.role === "tool")
    return message.results.map(({ value }) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n");
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function everything(request: ModelRequest): string {
  return request.messages.map(textOf).join("\n");
}

/** The tool whose result is the newest thing that was read. */
function newestTool({ messages }: ModelRequest): string | undefined {
  const last = messages.at(-1);
  return last?.role === "tool" ? last.results.at(-1)?.tool : undefined;
}

function newestOrder({ messages }: ModelRequest): string {
  return textOf(messages.findLast(({ role }) => role === "user"));
}

const call = (tool: string, input: object): Reply => ({ calls: [{ tool, input }] });

const planner = scripted((request) => {
  const tool = newestTool(request);
  if (tool === undefined) return call("list_files", {});
  if (tool === "list_files") {
    const files = JSON.parse(textOf(request.messages.at(-1))) as readonly string[];
    const source = files.filter((path) => /\.(js|py)$/.test(path));
    return { calls: source.map((path) => ({ tool: "read_file", input: { path } })) };
  }
  const [recalled] = /^\{"key":.*\}$/m.exec(everything(request)) ?? [];
  if (recalled === undefined) return "1. Reproduce the example. 2. Change the code. 3. Run the tests.";
  const { key, content } = JSON.parse(recalled) as { readonly key: string; readonly content: string };
  return `1. Heed what was learned about ${key}: ${content} 2. Change the code so. 3. Run the tests.`;
});

interface Repair {
  /** What must have been read to know better. */
  readonly needs: string;
  readonly small: string;
  readonly thorough: string;
  readonly right: string;
  readonly change: string;
  readonly example: string;
}

const repairs: Readonly<Record<string, Repair>> = {
  "slugify.js": {
    needs: "NFD",
    small: `/** The part of an address that names a page. */
export function slugify(title) {
  return title.toLowerCase().replaceAll("ç", "c").replace(/[^a-z]+/g, "-").replace(/-$/, "");
}
`,
    thorough: `const plain = { à: "a", â: "a", ç: "c", è: "e", é: "e", ê: "e", î: "i", ô: "o", û: "u" };

/** The part of an address that names a page. */
export function slugify(title) {
  const letters = title.toLowerCase().replace(/[^a-z0-9]/g, (letter) => plain[letter] ?? "-");
  return letters.replace(/-+/g, "-").replace(/^-|-$/g, "");
}
`,
    right: `/** The part of an address that names a page. */
export function slugify(title) {
  const plain = title.normalize("NFD").replace(/\\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}
`,
    change: "slugify takes accents off and drops punctuation",
    example: `node -e 'import("./slugify.js").then(({ slugify }) => console.log(slugify("Ça va, World!")))'`,
  },
  "search.js": {
    needs: "NFD",
    small: `/** The places whose names hold what somebody typed. */
export function search(places, typed) {
  const plain = (text) => text.toLowerCase().replaceAll("é", "e");
  return places.filter((place) => plain(place).includes(plain(typed)));
}
`,
    thorough: `const letters = { à: "a", â: "a", ç: "c", è: "e", é: "e", ê: "e", ü: "u" };
const plain = (text) => text.toLowerCase().replace(/[àâçèéêü]/g, (letter) => letters[letter]);

/** The places whose names hold what somebody typed. */
export function search(places, typed) {
  return places.filter((place) => plain(place).includes(plain(typed)));
}
`,
    right: `const plain = (text) => text.normalize("NFD").replace(/\\p{M}/gu, "").toLowerCase();

/** The places whose names hold what somebody typed. */
export function search(places, typed) {
  return places.filter((place) => plain(place).includes(plain(typed)));
}
`,
    change: "accents do not matter",
    example: `node -e 'import("./search.js").then(({ search }) => console.log(search(["Café Central"], "cafe")))'`,
  },
  "dates.py": {
    needs: "monthrange",
    small: `"""Days on which invoices are due."""


def add_months(day, months):
    """The same day so many months later, the last day of a month that is shorter."""
    month = day.month - 1 + months
    return day.replace(year=day.year + month // 12, month=month % 12 + 1, day=min(day.day, 28))
`,
    thorough: `"""Days on which invoices are due."""

LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def add_months(day, months):
    """The same day so many months later, the last day of a month that is shorter."""
    month = day.month - 1 + months
    last = LENGTHS[month % 12]
    return day.replace(year=day.year + month // 12, month=month % 12 + 1, day=min(day.day, last))
`,
    right: `"""Days on which invoices are due."""

from calendar import monthrange


def add_months(day, months):
    """The same day so many months later, the last day of a month that is shorter."""
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return day.replace(year=year, month=month, day=min(day.day, monthrange(year, month)[1]))
`,
    change: "add_months knows how long months are",
    example: `python3 -B -c 'from datetime import date; from dates import add_months; print(add_months(date(2023, 1, 31), 1))'`,
  },
  "renewals.py": {
    needs: "monthrange",
    small: `"""When contracts are renewed."""

from datetime import timedelta


def renewal(start, years):
    """The day on which a contract that began then is renewed."""
    return start + timedelta(days=365 * years)
`,
    thorough: `"""When contracts are renewed."""


def renewal(start, years):
    """The day on which a contract that began then is renewed."""
    day = 28 if start.month == 2 else start.day
    return start.replace(year=start.year + years, day=day)
`,
    right: `"""When contracts are renewed."""

from calendar import monthrange


def renewal(start, years):
    """The day on which a contract that began then is renewed, or the last day of its month."""
    year = start.year + years
    return start.replace(year=year, day=min(start.day, monthrange(year, start.month)[1]))
`,
    change: "contracts of a leap day are renewed on the last day of February",
    example: `python3 -B -c 'from datetime import date; from renewals import renewal; print(renewal(date(2024, 2, 29), 1))'`,
  },
};

const coder = scripted((request) => {
  const read = everything(request);
  const [path, repair] = Object.entries(repairs).find(([name]) => read.includes(name)) ?? [];
  if (repair === undefined || path === undefined) throw new Error("this script knows nothing of such a repository");
  const order = newestOrder(request);
  const tool = newestTool(request);
  if (tool === undefined) {
    const content = read.includes(repair.needs) ? repair.right : order.includes("smallest") ? repair.small : repair.thorough;
    return call("write_file", { path, content });
  }
  if (tool === "write_file" && order.includes("CHANGES.md"))
    return call("shell", { command: `echo '- ${repair.change}' >> CHANGES.md && ${repair.example}` });
  return `Done: ${repair.change}.`;
});

/** What a failure teaches, by what the tests say. */
const lessons = [
  {
    failure: /code point of its own/,
    key: "accents",
    lesson:
      'A table of accented letters misses accents that are code points of their own. Take all of them off with normalize("NFD") and replace(/\\p{M}/gu, "").',
  },
  {
    failure: /leap_year/,
    key: "month-lengths",
    lesson: "Fixed lengths of months are wrong in leap years. Ask calendar.monthrange(year, month)[1] for the last day of a month.",
  },
];

const reviewer = scripted((request) => {
  const found = lessons.find(({ failure }) => failure.test(newestOrder(request)));
  if (found === undefined) throw new Error("this script knows no such failure");
  return { output: { key: found.key, content: found.lesson } };
});

/** A long task, module by module: what fails is read out of the tests, the line to change out of the module. */
const moduleByModule = scripted((request) => {
  const tool = newestTool(request);
  const result = textOf(request.messages.at(-1));
  if (tool === undefined || tool === "edit_file") {
    const wantsLittle = newestOrder(request).includes("smallest");
    return tool === "edit_file" && wantsLittle ? "Done: one module is right." : call("shell", { command: testCommand });
  }
  if (tool === "shell") {
    const [, path] = /not ok \d+ - ([\w-]+\.js)/.exec(result) ?? [];
    return path === undefined ? "Done: every module is right." : call("read_file", { path });
  }
  const [find = ""] = /const plain = .*;/.exec(result) ?? [];
  const [, path] = /([\w-]+\.js)/.exec(JSON.stringify(request.messages.at(-2))) ?? [];
  return call("edit_file", { path, find, replace: 'const plain = (text) => text.normalize("NFD").replace(/\\p{M}/gu, "");' });
});
const testCommand = "node --test --test-reporter=tap";

const summary = scripted((request) => {
  const read = everything(request);
  const [, before = ""] = /Right by now: ([^:]*)\. Run the tests/.exec(read) ?? [];
  const done = [...read.matchAll(/Changed 1 place in ([\w-]+\.js)/g)].map(([, path]) => path);
  const right = [before, ...done].filter(Boolean).join(", ");
  return `Accents are taken off wrongly in one line of each module. Right by now: ${right}. Run the tests to see what is left.`;
});

export const offline = { "team/planner": planner, "team/coder": coder, "team/reviewer": reviewer, "team/summary": summary };
export const offlineLong = { ...offline, "team/coder": moduleByModule };
