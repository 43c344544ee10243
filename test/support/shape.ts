import type { RequestMessage } from "../../src/session/message.ts";

/** What a provider would refuse: calls without all their results right after them, results without calls, call ids used twice, an answer as the last message. */
export function shapeProblems(messages: readonly RequestMessage[]): readonly string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const calls = message.role === "assistant" ? message.parts.flatMap((part) => (part.type === "call" ? [part.id] : [])) : [];
    for (const id of calls) {
      if (ids.has(id)) problems.push(`message ${index} uses the call id ${id} again`);
      ids.add(id);
    }
    const next = messages[index + 1];
    const results = next?.role === "tool" ? next.results.map(({ call }) => call) : [];
    if (calls.length > 0 && calls.join() !== results.join())
      problems.push(`message ${index} calls ${calls.join()}, results are ${results.join()}`);
    const before = messages[index - 1];
    if (message.role === "tool" && before?.role !== "assistant") problems.push(`message ${index} has results without calls`);
  }
  if (messages.length === 0) problems.push("there is no message");
  if (messages.at(-1)?.role === "assistant") problems.push("the last message is an answer");
  return problems;
}
