/** What was spent on all branches: by agent and by model, as sums and as bars. A result that a rerun reused was paid for elsewhere. */
import { count, money } from "../../wire/format.ts";
import { colour, escaped, round, svg, text } from "../svg.ts";
import { dataOf, type Effect } from "./effects.ts";

export interface Spent {
  readonly name: string;
  calls: number;
  failed: number;
  ms: number;
  input: number;
  cached: number;
  output: number;
  reasoning: number;
  usd: number;
  /** Calls of models without a known price. */
  unpriced: number;
}

/** Sums by whatever a name is given for; the dearest first. */
export function spentBy(effects: readonly Effect[], nameOf: (effect: Effect) => string | undefined): readonly Spent[] {
  const sums = new Map<string, Spent>();
  for (const effect of effects) {
    const name = effect.result === undefined ? undefined : nameOf(effect);
    if (name === undefined) continue;
    const sum = sums.get(name) ?? nothing(name);
    sums.set(name, sum);
    add(sum, effect);
  }
  return [...sums.values()].sort((a, b) => b.usd - a.usd || b.input + b.output - a.input - a.output || b.ms - a.ms);
}

function add(sum: Spent, { result, outcome, ms = 0, reused }: Effect): void {
  sum.calls++;
  if (outcome !== "ok") sum.failed++;
  if (reused !== undefined) return;
  const usage = result?.facts.usage;
  sum.ms += ms;
  sum.input += usage?.input ?? 0;
  sum.cached += usage?.cached ?? 0;
  sum.output += usage?.output ?? 0;
  sum.reasoning += usage?.reasoning ?? 0;
  sum.usd += usage?.usd ?? 0;
  if (dataOf(result, "model.returned")?.unpriced === true) sum.unpriced++;
}

/** All of them together. */
export function total(sums: readonly Spent[]): Spent {
  const all = nothing("all");
  for (const sum of sums) {
    all.calls += sum.calls;
    all.failed += sum.failed;
    all.ms += sum.ms;
    all.input += sum.input;
    all.cached += sum.cached;
    all.output += sum.output;
    all.reasoning += sum.reasoning;
    all.usd += sum.usd;
    all.unpriced += sum.unpriced;
  }
  return all;
}

function nothing(name: string): Spent {
  return { name, calls: 0, failed: 0, ms: 0, input: 0, cached: 0, output: 0, reasoning: 0, usd: 0, unpriced: 0 };
}

/** The model that answered, else the one that was asked. */
export function modelOf({ call, result, op }: Effect): string | undefined {
  return op !== "model" ? undefined : (dataOf(result, "model.returned")?.model ?? dataOf(call, "model.called")?.model ?? "unknown");
}

const [words, room, width, row] = [200, 560, 960, 26];
const most = 12;

/** Bars of tokens: read from a cache, read anew, written. */
export function spentSvg(sums: readonly Spent[], title: string): string {
  const some = sums.filter(({ input, output }) => input + output > 0);
  const shown = some.slice(0, most);
  const widest = shown.reduce((largest, { input, output }) => Math.max(largest, input + output), 1);
  const lines = shown.flatMap((sum, index) => drawSum(sum, 8 + index * row, widest));
  const y = 8 + shown.length * row + 16;
  const left = some.length - shown.length;
  return svg({ width, height: y + 10, title }, [
    ...lines,
    ...(["other", "model", "tool"] as const).flatMap((tint, index) => [
      `<rect x="${words + 14 + index * 130}" y="${y - 9}" width="10" height="10" rx="2" style="fill:${colour(tint)}" fill-opacity="${tint === "other" ? 0.5 : 0.9}"/>`,
      text(words + 29 + index * 130, y, ["read from a cache", "read", "written"][index] ?? "", { size: 11, colour: "soft" }),
    ]),
    ...(left === 0 ? [] : [text(width - 10, y, `${count(left)} more in the table`, { size: 11, colour: "soft", anchor: "end" })]),
  ]);
}

function drawSum({ name, input, cached, output, usd, unpriced }: Spent, y: number, widest: number): string[] {
  let x = words + 14;
  const parts = [
    ["other", cached],
    ["model", input - cached],
    ["tool", output],
  ] as const;
  const bars = parts.map(([tint, tokens]) => {
    const wide = round((tokens / widest) * room);
    const at = x;
    x = round(x + wide);
    return `<rect x="${at}" y="${y + 2}" width="${wide}" height="14" style="fill:${colour(tint)}" fill-opacity="${tint === "other" ? 0.5 : 0.9}"><title>${escaped(`${count(tokens)} tokens`)}</title></rect>`;
  });
  const cost = unpriced > 0 ? "price unknown" : money(usd);
  return [
    text(words, y + 13, name, { size: 12, room: words - 10, anchor: "end" }),
    ...bars,
    text(round(x + 8), y + 13, `${count(input + output)} · ${cost}`, { size: 11, colour: "soft" }),
  ];
}
