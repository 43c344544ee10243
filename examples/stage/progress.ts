/** What a run does while it does it: a line for everything that is worth one. */
import type { Event, Run, Session, StreamPart } from "openrath";
import { columns, folded, ink } from "./print.ts";
import { clock } from "./stage.ts";

const room = columns - 29;

/** Prints what a run does until it ends. What an earlier process left on record is not told again. */
export async function follow(run: Run, hear: (part: StreamPart) => void = () => {}): Promise<Session> {
  const since = new Date().toISOString();
  const labels = new Map<string, string | undefined>();
  const stream = run.stream();
  for await (const part of stream) {
    hear(part);
    if (part.type !== "event") continue;
    const { kind, session, at, data } = part.event;
    if (kind === "session.forked") labels.set(session, data.label);
    const text = wordsFor(part.event);
    const before = at < since && kind !== "session.rejected"; // a rejection bears the time of what it is about
    if (!before && text !== undefined) print(part.by.split("/")[1] ?? part.by, labels.get(session) ?? "", text);
  }
  return stream.result();
}

function print(role: string, label: string, text: string): void {
  const colour = text.startsWith("✓") ? "green" : text.startsWith("✗") ? "red" : undefined;
  for (const [index, line] of folded(text, room).entries()) {
    const before = index === 0 ? `${clock().padStart(7)}  ${role.padEnd(8)}  ${label.padEnd(8)}` : " ".repeat(27);
    console.log(`${ink("dim", before)}  ${colour === undefined ? line : ink(colour, line)}`);
  }
}

/** What is said of an event; most are not told. */
function wordsFor({ kind, data }: Event): string | undefined {
  switch (kind) {
    case "message.added":
      return data.role === "user" ? cut(data.parts.map((part) => (part.type === "text" ? part.text : "")).join("")) : undefined;
    case "tool.called": {
      const { path, command = JSON.stringify(data.input) } = (data.input ?? {}) as { readonly path?: string; readonly command?: string };
      return cut(`${data.name} ${path ?? command}`);
    }
    case "model.returned": {
      const text = (data.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
      return text === "" || text.startsWith("{") ? undefined : cut(text);
    }
    case "check.returned":
      return `${data.passed === true ? "✓" : "✗"} ${data.reason ?? ""}`;
    case "recall.returned": {
      const found = (data.value ?? []) as readonly { readonly key: string; readonly content: string }[];
      return `recalls ${found.map(({ key, content }) => `"${key}": ${content}`).join("; ") || "nothing that fits"}`;
    }
    case "remember.called":
      return `remembers "${data.key}": ${String(data.content)}`;
    case "session.rejected":
      return `✗ rejected: ${data.reason}`;
    case "context.compressed":
      return data.policy === "summary" ? "what it has read is replaced by a summary; the record keeps all of it" : undefined;
    case "agent.stopped":
      return data.stop === "finished" ? undefined : `stops: ${data.reason ?? data.stop}`;
    default:
      return undefined;
  }
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > room ? `${line.slice(0, room - 1)}…` : line;
}
