/** The files of a new project. They must run as they stand: a test makes the project and runs it. */

export function projectFiles(name: string, version: string): Readonly<Record<string, string>> {
  return {
    "package.json": `${JSON.stringify(manifest(name, version), undefined, 2)}\n`,
    "tsconfig.json": `${JSON.stringify(compiler, undefined, 2)}\n`,
    ".gitignore": "node_modules/\n.openrath/\n",
    "openrath.config.ts": config,
    "src/assistant.ts": assistant,
    "test/assistant.test.ts": test,
  };
}

function manifest(name: string, version: string): object {
  return {
    name,
    private: true,
    type: "module",
    engines: { node: ">=20.19" },
    scripts: {
      start: 'openrath run assistant --input "How many words are in: to be or not to be"',
      chat: "openrath chat",
      test: "node --import tsx --test test/assistant.test.ts",
      check: "tsc",
    },
    dependencies: { openrath: `^${version}`, zod: "^4.0.0" },
    devDependencies: { "@types/node": "^20.19.0", tsx: "^4.20.0", typescript: "^5.9.0 || ^6.0.0" },
    // npm asks before it lets packages build themselves; the driver of SQLite is one that does on Node 20.
    allowScripts: { "better-sqlite3": true, esbuild: true },
  };
}

const compiler = {
  compilerOptions: {
    strict: true,
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    types: ["node"],
    module: "nodenext",
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
  },
  include: ["openrath.config.ts", "src", "test"],
};

const config = `import { openrath } from "openrath";
import { assistant } from "./src/assistant.ts";

/** What the command line works on: \`openrath run assistant\`, \`openrath ls\`, \`openrath log ID --graph\`, … */
export const rath = openrath({ workflows: { assistant } });
`;

const assistant = `import { Agent, type ModelRequest, scripted, tool } from "openrath";
import { z } from "zod";

/** It only reads, so it may be repeated after a crash. */
const countWords = tool({
  name: "count_words",
  description: "Counts the words of a text.",
  input: z.object({ text: z.string() }),
  repeat: "safe",
  writes: "nothing",
  run: ({ text }) => text.split(/\\s+/).filter((word) => word !== "").length,
});

/** In place of a model: counts what is asked after the colon, and says what the tool found. */
function answer(request: ModelRequest) {
  const last = request.messages.at(-1);
  if (last?.role === "tool") return \`There are \${String(last.results[0]?.value)} words.\`;
  const said = last?.role === "user" ? last.parts.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
  return { calls: [{ tool: "count_words", input: { text: said.slice(said.indexOf(":") + 1) } }] };
}

export const offline = scripted(answer);

/** MODEL=anthropic/claude-haiku-4-5 asks a real one, with its provider's key and after npm install @ai-sdk/anthropic. */
const model = process.env["MODEL"] || offline;

export const assistant = new Agent({
  name: "assistant",
  description: "Answers questions about texts.",
  model,
  instructions: "Answer in one sentence. Count words with the tool, never by yourself.",
  tools: [countWords],
});
`;

const test = `import assert from "node:assert/strict";
import { test } from "node:test";
import { openrath, replay } from "openrath";
import { assistant, offline } from "../src/assistant.ts";

test("the assistant counts with its tool, and its record replays", async () => {
  const rath = openrath({ store: "memory" });
  const agent = assistant.with({ model: offline });
  const run = await rath.run(agent, rath.session("How many words are in: to be or not to be"));
  const session = await run.result();
  assert.equal(session.text, "There are 6 words.");
  assert.equal(session.calls[0]?.tool, "count_words");
  assert.deepEqual(session.calls[0]?.outcome, { type: "ok", value: 6 });
  assert.ok((await replay(session, agent)).identical);
  await rath.close();
});
`;
