/** How a run stands, in a sentence. */
import type { RunDetail } from "../../../../src/client/client.ts";
import { seconds } from "../../../../src/wire/format.ts";

export function outcomeWords({ status, started, ended, outcome, cancel }: RunDetail): string {
  const took = ended === undefined ? "" : ` after ${seconds(Date.parse(ended) - Date.parse(started))}`;
  switch (status) {
    case "queued":
      return "It waits for a worker.";
    case "running":
      return cancel === undefined ? "Somebody executes it now." : "It was asked to end, and has not yet.";
    case "waiting":
      return `It waits, and nobody executes it: ${outcome.pending?.length ?? 0} open.`;
    case "done":
      return `It is done${took}.`;
    case "failed":
      return `It failed${took}.`;
    case "cancelled":
      return `It was cancelled${took}${cancel === undefined ? "" : ` by ${cancel.by}`}.`;
    default:
      return status satisfies never;
  }
}

const limitWords = { rounds: "model calls", tokens: "tokens", usd: "dollars", time: "" } as const;

/** "at most 5 dollars, 20 model calls". */
export function limitsWords(limits: NonNullable<RunDetail["limits"]>): string {
  const said = Object.entries(limits).flatMap(([name, value]) =>
    value === undefined ? [] : [`${value} ${limitWords[name as keyof typeof limitWords] ?? name}`.trim()],
  );
  return said.length === 0 ? "none" : `at most ${said.join(", ")}`;
}
