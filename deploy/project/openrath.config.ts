import { readFileSync } from "node:fs";
import { Agent, openrath, scripted } from "openrath";

/** The project that the image has when no other is put at /app/project: one agent, which a script answers for until a key is given. */
const model = process.env["ANTHROPIC_API_KEY"]
  ? "anthropic/claude-haiku-4-5"
  : process.env["OPENAI_API_KEY"]
    ? "openai/gpt-5-mini"
    : scripted(() => "Somebody has to give me a model: ANTHROPIC_API_KEY or OPENAI_API_KEY.");
const assistant = new Agent({ name: "assistant", description: "Answers questions.", model, instructions: "Answer in one sentence." });

/** Where the password is a file, it is in no variable that a process of this container could print. Without one the store is a file in OPENRATH_HOME. */
function store(): string | undefined {
  const file = process.env["POSTGRES_PASSWORD_FILE"];
  if (!file) return undefined;
  const { POSTGRES_HOST: host = "postgres", POSTGRES_PORT: port = "5432" } = process.env;
  return `postgres://openrath:${encodeURIComponent(readFileSync(file, "utf8").trim())}@${host}:${port}/openrath`;
}

export const rath = openrath({ store: store(), workflows: { assistant } });
