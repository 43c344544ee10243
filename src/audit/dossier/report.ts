/** A session on one page of Markdown, for a ticket or a pull request. What others wrote is quoted as text. */
import { count, money, plural } from "../../wire/format.ts";
import { neutral } from "../../wire/neutral.ts";
import { brief } from "./blocks.ts";
import { dataOf } from "./effects.ts";
import { failuresOf } from "./failures.ts";
import { sourceOf } from "./model-source.ts";
import type { Proof } from "./proof.ts";
import type { Dossier } from "./read.ts";
import { spentBy, total } from "./spending.ts";

/** The text of report.md. */
export function reportOf(dossier: Dossier, proof: Proof): string {
  const { session, title, task, output, ways, effects, changes } = dossier;
  const spent = total(spentBy(effects, ({ op }) => op));
  const { failed, retried, interrupted } = failuresOf(dossier);
  const models = effects.filter(({ op }) => op === "model");
  const sources = (["scripted", "recorded", "live", "none"] as const).flatMap((source) => {
    const number = models.filter((effect) => sourceOf(effect) === source).length;
    return number === 0 ? [] : [`${count(number)} ${source === "none" ? "without a reply" : source}`];
  });
  const checks = effects.filter(({ op, call }) => op === "check" && dossier.counts(call));
  const rejected = ways.filter(({ part }) => part === "rejected");
  return [
    `# ${plain(title, 200)}`,
    `Session \`${session.id}\` at step ${session.step}, read on ${dossier.at}.`,
    `## Task\n\n${quoted(task)}`,
    `## Outcome\n\n${output === "" ? "Nothing came out of it." : quoted(output)}`,
    `## In figures\n\n${[
      `${plural(ways.length, "branch")}, ${count(rejected.length)} rejected`,
      `${plural(models.length, "model step")}${sources.length === 0 ? "" : `: ${sources.join(", ")}`}`,
      `${plural(effects.filter(({ op }) => op === "tool").length, "tool call")}, ${plural(changes.length, "file")} changed`,
      `${money(spent.usd)}, ${count(spent.input + spent.output)} tokens, on all branches`,
      `${plural(failed.length, "failure")}, ${count(retried.length)} tried again, ${plural(interrupted.length, "interruption")}`,
      `record ${proof.verification.ok ? "intact" : "in doubt"} (${plural(proof.verification.events, "event")}); replay ${proof.replay.done ? (proof.replay.identical ? "identical" : "differs") : "not done"}`,
    ]
      .map((line) => `- ${line}`)
      .join("\n")}`,
    ...(checks.length === 0
      ? []
      : [
          `## Checks\n\n${checks
            .slice(-30)
            .map((check) =>
              `- ${dataOf(check.result, "check.returned")?.passed === true ? "passed" : "failed"}: ${plain(check.name, 100)} at step ${check.step}. ${plain(dataOf(check.result, "check.returned")?.reason ?? "", 200)}`.trimEnd(),
            )
            .join("\n")}`,
        ]),
    ...(rejected.length === 0
      ? []
      : [
          `## Rejected\n\n${rejected
            .slice(0, 30)
            .map(({ label, reason }) => `- ${plain(label, 100)}: ${plain(reason ?? "no reason was given", 300)}`)
            .join("\n")}`,
        ]),
    ...(changes.length === 0
      ? []
      : [
          `## Files\n\n${changes
            .slice(0, 60)
            .map(({ path, kind }) => `- ${kind}: ${plain(path, 200)}`)
            .join("\n")}${changes.length > 60 ? `\n- and ${count(changes.length - 60)} more in patch.diff` : ""}`,
        ]),
    "Everything else is in `index.html`.",
  ]
    .join("\n\n")
    .concat("\n");
}

/** Text in which nothing is Markdown or HTML. */
function plain(text: string, most: number): string {
  return neutral(brief(text, most)).replace(/[\\`*_{}[\]()#+!|<>~&-]/g, (found) => `\\${found}`);
}

function quoted(text: string): string {
  const shown = text.length <= 4000 ? text : `${text.slice(0, 4000)}\n… ${count(text.length - 4000)} more characters`;
  return neutral(shown)
    .split("\n")
    .map((line) => `> ${plainLine(line)}`)
    .join("\n");
}

function plainLine(line: string): string {
  return line.replace(/[\\`*_{}[\]#+!|<>~&]/g, (found) => `\\${found}`);
}
