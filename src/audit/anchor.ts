/** Statements kept outside the store: a record that was cut back to an older one still holds by itself, but not against them. */
import { readFile } from "node:fs/promises";
import { orderDigest } from "../runtime/key.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { Source } from "./gather.ts";
import type { Finding } from "./inspect.ts";
import { type RunStatements, type Signed, signatureProblem, statementLine, type TrustedKeys } from "./statements.ts";

/** What an anchor shows. */
export interface CheckedAnchor {
  readonly findings: readonly Finding[];
  /** How many of its statements are about other sessions. */
  readonly others: number;
}

/** What an anchor is held against. */
export interface Anchored {
  readonly source: Source;
  readonly runs: readonly RunStatements[];
  readonly keys: TrustedKeys;
  /** Whether a session belongs to what is checked; statements about others cannot be judged by it. */
  readonly concerns: (session: string) => boolean;
}

/** Checks every statement of an anchor: a file with one on each line, or the text itself. */
export async function checkAnchor(anchored: Anchored, anchor: string): Promise<CheckedAnchor> {
  const { schemas } = await import("../session/schema.ts");
  const findings: Finding[] = [];
  let others = 0;
  let text = anchor;
  try {
    if (!anchor.trimStart().startsWith("{")) text = await readFile(anchor, "utf8");
  } catch (error) {
    return { findings: [{ event: "anchor", problem: `the anchor cannot be read: ${textOfThrown(error)}`, kind: "anchor" }], others };
  }
  const lines = new Set(text.split("\n").filter((line) => line.trim() !== ""));
  if (lines.size === 0) findings.push({ event: "anchor", problem: "the anchor is empty", kind: "anchor" });
  for (const line of lines) {
    const read = schemas["run.signed"].safeParse(parsed(line));
    if (!read.success) findings.push({ event: "anchor", problem: "the anchor is not a statement that verify returned", kind: "anchor" });
    else {
      const found = await checkOne(anchored, read.data);
      if (found === "other") others++;
      else findings.push(...found);
    }
  }
  return { findings, others };
}

/** What is not in the store at all was cut from it, whatever it belonged to. */
async function checkOne({ source, runs, keys, concerns }: Anchored, anchor: Signed): Promise<readonly Finding[] | "other"> {
  const signature = signatureProblem(anchor, keys);
  if (signature !== undefined) return [{ event: "anchor", problem: `the anchor does not count: ${signature}`, kind: "anchor" }];
  const { head, time, session } = anchor.statement;
  let there = false;
  for await (const event of source.events({ ids: [head] })) there = event.id === head;
  if (there && runs.some((run) => stillHolds(run, anchor))) return [];
  if (there && !concerns(session)) return "other";
  const what = there ? "no run of it has come to these events in this order" : "that head is not there any more";
  return [
    {
      event: head,
      problem: `session ${session} was cut back or changed since the anchor was made at ${time}: ${what}`,
      field: "head",
      kind: "cut-back",
    },
  ];
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
