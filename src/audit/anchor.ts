/** Statements kept outside the store: a record that was cut back to an older one still holds by itself, but not against them. */
import { readFile } from "node:fs/promises";
import { orderDigest } from "../runtime/key.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { Source } from "./gather.ts";
import type { Finding } from "./inspect.ts";
import { type RunStatements, type Signed, signatureProblem, statementLine, type TrustedKeys } from "./statements.ts";

/** Checks every statement of an anchor: a file with one on each line, or the text itself. */
export async function checkAnchor(
  source: Source,
  anchor: string,
  runs: readonly RunStatements[],
  keys: TrustedKeys,
): Promise<readonly Finding[]> {
  const { schemas } = await import("../session/schema.ts");
  const findings: Finding[] = [];
  let text = anchor;
  try {
    if (!anchor.trimStart().startsWith("{")) text = await readFile(anchor, "utf8");
  } catch (error) {
    return [{ event: "anchor", problem: `the anchor cannot be read: ${textOfThrown(error)}`, kind: "anchor" }];
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return [{ event: "anchor", problem: "the anchor is empty", kind: "anchor" }];
  for (const line of lines) {
    const read = schemas["run.signed"].safeParse(parsed(line));
    if (!read.success) findings.push({ event: "anchor", problem: "the anchor is not a statement that verify returned", kind: "anchor" });
    else findings.push(...(await checkOne(source, read.data, runs, keys)));
  }
  return findings;
}

async function checkOne(source: Source, anchor: Signed, runs: readonly RunStatements[], keys: TrustedKeys): Promise<readonly Finding[]> {
  const signature = signatureProblem(anchor, keys);
  if (signature !== undefined) return [{ event: "anchor", problem: `the anchor does not count: ${signature}`, kind: "anchor" }];
  const { head, time } = anchor.statement;
  let there = false;
  for await (const event of source.events({ ids: [head] })) there = event.id === head;
  if (there && runs.some((run) => stillHolds(run, anchor))) return [];
  const what = there ? "no run of it has come to these events in this order" : "that head is not there any more";
  return [{ event: head, problem: `the record was cut back or changed since the anchor was made at ${time}: ${what}`, kind: "cut-back" }];
}

/** The run still has the statement, or at least all that it covered in that order. */
function stillHolds({ events, statements }: RunStatements, anchor: Signed): boolean {
  const line = statementLine(anchor);
  if (statements.some((signed) => statementLine(signed) === line)) return true;
  const { number, events: count, order } = anchor.statement;
  const before = statements.find((signed) => signed.statement.number === number - 1)?.statement;
  if (events === undefined || events.length < count || (number > 1 && before === undefined)) return false;
  return (
    orderDigest(
      before?.order ?? "",
      events.slice(before?.events ?? 0, count).map((event) => event.id),
    ) === order
  );
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
