/** What of a place a rerun can change, and how the change is asked for. */
import type { EventResource } from "../../../src/client/client.ts";
import type { Lineage } from "../lineage/lineage.ts";

export type Changeable =
  /** The newest message before a run, and the place of that run. */
  | { readonly what: "message"; readonly at: string }
  /** The result of an effect. */
  | { readonly what: "result"; readonly result: string | undefined }
  /** A model call: its reply, its model, or the instructions of its agent. */
  | { readonly what: "call"; readonly call: string; readonly result: string | undefined }
  /** Only what the program is told beside it. */
  | { readonly what: "nothing"; readonly why: string };

const settles = new Set(["workflow.entered", "model.called", "tool.called", "do.called", "recall.called", "route.called", "ask.called"]);

/** What the event of a row lets one change. */
export function changeableAt(lineage: Lineage, row: number): Changeable {
  const kind = lineage.kind(row);
  if (kind === "message.added") return messageAt(lineage, row);
  if (!/\.(called|started|returned)$/.test(kind) || kind.startsWith("run."))
    return { what: "nothing", why: "Choose a message, a model call or a result to change it." };
  const call = kind.endsWith(".called") ? row : lineage.callBehind(row);
  const result = kind.endsWith(".returned") ? row : resultOf(lineage, call);
  const id = result === undefined ? undefined : lineage.id(result);
  return kind.startsWith("model.") ? { what: "call", call: lineage.id(call), result: id } : { what: "result", result: id };
}

/** The result of a call, if there is one: it comes later, mostly soon. */
function resultOf(lineage: Lineage, call: number): number | undefined {
  const kind = lineage.kind(call).replace(/\.called$/, ".returned");
  for (let row = call + 1; row < lineage.count; row++) {
    if (lineage.kind(row) === kind && lineage.callBehind(row) === call) return row;
  }
  return undefined;
}

/** A message can be changed where it is the newest one before a run: the run is given another. */
function messageAt(lineage: Lineage, row: number): Changeable {
  const branch = lineage.branchIndex(row);
  for (let next = row + 1; next < lineage.count; next++) {
    if (lineage.branchIndex(next) !== branch) continue;
    const kind = lineage.kind(next);
    if (kind === "message.added") return { what: "nothing", why: "A later message was said before the run began: change that one." };
    if (!settles.has(kind)) continue;
    if (!lineage.by(next).includes("/")) return { what: "message", at: lineage.id(next) };
    break;
  }
  return { what: "nothing", why: "No run began with this message: the program said it, or nothing came after it." };
}

/** The value of a result as it can be edited: text as text, anything else as JSON. */
export interface Editable {
  readonly text: string;
  readonly json: boolean;
}

export function editable({ kind, data }: EventResource): Editable {
  const said = (data ?? {}) as { value?: unknown; parts?: readonly { type: string; text?: string }[]; passed?: boolean; message?: string };
  if (kind === "message.added" || kind === "model.returned") return { text: textOfParts(said.parts ?? []), json: false };
  if (kind === "check.returned") return { text: JSON.stringify(said.passed ?? false), json: true };
  const value = said.value ?? said.message ?? null;
  return typeof value === "string" ? { text: value, json: false } : { text: JSON.stringify(value, undefined, 2), json: true };
}

function textOfParts(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.flatMap(({ type, text }) => (type === "text" ? [text ?? ""] : [])).join("");
}

/** Throws what is wrong with JSON that was typed. */
export function outputOf({ text, json }: Editable): NonNullable<unknown> | null {
  if (!json) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The value is no JSON: ${(error as Error).message}`);
  }
}
