/** What was spent on all branches, as bars. */
import { count, money, plural } from "../../wire/format.ts";
import type { CostRow } from "../cost.ts";
import { colour, escaped, round, svg, text } from "../svg.ts";
import { dataOf, type Effect } from "./effects.ts";

/** The model that answered, else the one that was asked. */
export function modelOf({ call, result, op }: Effect): string | undefined {
  return op !== "model" ? undefined : (dataOf(result, "model.returned")?.model ?? dataOf(call, "model.called")?.model ?? "unknown");
}

const [words, room, width, row] = [200, 560, 960, 26];
const most = 12;

/** Bars of tokens: read from a cache, read anew, written. */
export function spentSvg(sums: readonly CostRow[], title: string): string {
  const some = sums.filter(({ usage }) => usage.input + usage.output > 0);
  const shown = some.slice(0, most);
  const widest = shown.reduce((largest, { usage }) => Math.max(largest, usage.input + usage.output), 1);
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

function drawSum({ name, usage: { input, cached, output, usd }, unpriced }: CostRow, y: number, widest: number): string[] {
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
    return `<rect x="${at}" y="${y + 2}" width="${wide}" height="14" style="fill:${colour(tint)}" fill-opacity="${tint === "other" ? 0.5 : 0.9}"><title>${escaped(`${plural(tokens, "token")}`)}</title></rect>`;
  });
  const cost = unpriced > 0 ? "price unknown" : money(usd);
  return [
    text(words, y + 13, name, { size: 12, room: words - 10, anchor: "end" }),
    ...bars,
    text(round(x + 8), y + 13, `${count(input + output)} · ${cost}`, { size: 11, colour: "soft" }),
  ];
}
