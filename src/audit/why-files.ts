/** Files on the way: who wrote what a call names, what a check judged, and who settled what two branches had changed. */
import { actedOf, treeOf } from "../session/acted.ts";
import { RathError } from "../session/errors.ts";
import { callOf, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import { messageOf } from "../session/views.ts";
import { normalPath } from "../workspace/path.ts";
import { emptyTree } from "../workspace/tree.ts";
import { sourceOf, sourcesOf, type Written } from "./file-versions.ts";
import { type Step, stepTo, type Tracing } from "./why-step.ts";
import { nameWords, wordsOf } from "./why-words.ts";

/** Texts of an input that are looked for in the workspace, files that are followed, and writers of what a check judged. */
const mostTexts = 50;
const mostFiles = 3;
const mostWriters = 10;

/** Who wrote the files that a call names, as they were when it ran: of their lines those with the words asked about. */
export async function filesNamed(tracing: Tracing, call: Node, result: Node | undefined): Promise<readonly Step[]> {
  const { runtime } = tracing;
  const { sandboxes, platform } = runtime;
  const acted = result === undefined ? undefined : actedOf(result, platform);
  const place = result?.parent ?? call;
  const tree = acted?.before ?? sandboxes.recordedTreeAt(stateOf(place));
  if (tree === undefined || tree === emptyTree) return [];
  const { writtenLines } = await import("./blame.ts");
  const steps: Step[] = [];
  for (const path of namesIn(call.data<"tool.called">(platform)?.input)) {
    if (steps.length >= mostFiles) break;
    // What it wrote itself is its own.
    if ((await sandboxes.trees.entry(tree, path))?.type !== "file" || acted?.changes.some((change) => change.path === path)) continue;
    const { lines } = await writtenLines(runtime, place, path, { signal: tracing.signal }).catch(noLines);
    const newest = newestOf(lines, tracing.words);
    if (newest !== undefined) steps.push(writtenStep(tracing, path, newest, `${nameWords(path)}, which the call names: `));
  }
  return steps;
}

/** Links, binaries and files that nobody has looked at yet have no lines. */
function noLines(error: unknown): { readonly lines: readonly { readonly text: string; readonly by: Written }[] } {
  if (RathError.is(error)) return { lines: [] };
  throw error;
}

function newestOf(lines: readonly { readonly text: string; readonly by: Written }[], words: string | undefined): Written | undefined {
  const wanted = words === undefined ? [""] : words.split("\n").flatMap((line) => line.trim() || []);
  let newest: Written | undefined;
  for (const { text, by } of lines)
    if ((newest === undefined || by.node.step > newest.node.step) && wanted.some((line) => text.includes(line))) newest = by;
  return newest;
}

/** Paths that the texts of an input may be, each once. */
function namesIn(input: unknown): readonly string[] {
  const names = new Set<string>();
  const waiting = [input];
  for (let next = waiting.pop(); waiting.length < mostTexts && names.size < mostTexts; next = waiting.pop()) {
    if (typeof next === "string" && next.length <= 4096)
      for (const text of [next, ...next.split(/[\s"'`;|&<>()=,]+/u)]) addPath(names, text);
    else if (typeof next === "object" && next !== null) for (const inner of Object.values(next).slice(0, mostTexts)) waiting.push(inner);
    if (waiting.length === 0) break;
  }
  return [...names];
}

function addPath(names: Set<string>, text: string): void {
  if (text === "" || text.length > 1000 || text.includes("\0")) return;
  try {
    const path = normalPath(text);
    if (path !== "") names.add(path);
  } catch {
    // It leads out of the workspace: no file of ours.
  }
}

export function writtenStep({ runtime }: Tracing, path: string, { node, before, after, trees }: Written, lead = ""): Step {
  const relation = node.kind === "placement.changed" ? "captured" : node.kind === "session.merged" ? "merged" : "wrote";
  const evidence = { file: { path, before, after }, trees };
  return stepTo(relation, node, { words: `${lead}${wordsOf(node, runtime.platform)}`, evidence });
}

/** Who wrote the files that a check judged: the newest changes first, as many as are worth reading. */
export function filesJudged({ runtime }: Tracing, check: Node): readonly Step[] {
  const { platform } = runtime;
  const writers: Node[] = [];
  const seen = new Set<Node>();
  const waiting = [sourceOf(check.parent)];
  for (let next = waiting.shift(); next !== undefined && writers.length < mostWriters; next = waiting.shift()) {
    if (seen.has(next)) continue;
    seen.add(next);
    if (next.kind === "placement.changed" || (actedOf(next, platform)?.changes.length ?? 0) > 0) writers.push(next);
    for (const before of sourcesOf(next)) waiting.push(before);
  }
  return writers.map((node) => {
    const relation = node.kind === "placement.changed" ? "captured" : "wrote";
    return stepTo(relation, node, { words: `${wordsOf(node, platform)}; the check judged the files after it` });
  });
}

/** Who said what becomes of what two branches had changed: the person or the workflow that the merge asked, if it asked any. */
export function settledBy({ runtime }: Tracing, merged: Node, path?: string): readonly Step[] {
  const { platform } = runtime;
  const { files, memory } = merged.data<"session.merged">(platform) ?? {};
  const names = new Set([...(files?.resolved ?? []).map(({ path }) => path), ...(memory ?? []).map(({ uri }) => uri)]);
  if (path === undefined ? names.size === 0 : !names.has(path)) return [];
  const asked: Step[] = [];
  let at = merged.parent;
  for (; at?.kind === "ask.returned"; at = callOf(at).parent) {
    const question = callOf(at).data<"ask.called">(platform)?.question ?? "";
    if ((path === undefined ? [...names] : [path]).some((name) => question.startsWith(`Both branches changed ${name} (`)))
      asked.push(stepTo("decided", at));
  }
  if (asked.length > 0 || at === undefined) return asked;
  const { said } = stateOf(at);
  while (at !== undefined && at.kind !== "message.added") at = at.parent;
  const put = at === undefined || at.erased ? "" : messageOf(at, platform).text;
  const wasAsked = /^These (?:files|things) were changed on two branches that are being merged\. /.test(put);
  return wasAsked && said !== undefined && said.step > (at as Node).step ? [stepTo("decided", said)] : [];
}

/** The tree that a check judged. */
export function judgedTree({ runtime }: Tracing, check: Node): string | undefined {
  const source = sourceOf(check.parent);
  return actedOf(check, runtime.platform)?.before ?? (source === undefined ? undefined : treeOf(source, runtime.platform));
}
