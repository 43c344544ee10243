/** Calls of tools, and effects of workflows, as one plain JSON object a line: for jq and spreadsheets. Long texts are cut and say so. */
import type { Outcome } from "../../session/message.ts";
import { outcomeFrom } from "../../session/views.ts";
import { neutralJson } from "../../wire/neutral.ts";
import { clipped } from "./blocks.ts";
import { actsOutside, dataOf, type Effect, exchangeOf, neededApproval } from "./effects.ts";
import type { Dossier } from "./read.ts";
import { actedIn } from "./work.ts";

const longest = 100_000;

/** The lines of calls.jsonl. */
export function callLines(dossier: Dossier): readonly string[] {
  return dossier.effects.filter(actsOutside).map((effect) => neutralJson(callOf(dossier, effect)));
}

function callOf({ decisions, nameOf, counts }: Dossier, effect: Effect): object {
  const { call, name, by, session, step, attempts, reused, ms } = effect;
  const asked = dataOf(call, "tool.called");
  const { input, returned } = exchangeOf(effect);
  const acted = actedIn(effect);
  const decision = decisions.get(call.id);
  return {
    ...{ id: call.id, [effect.op]: name, by, session, branch: nameOf(session), step, at: call.at, inResult: counts(call) },
    input: cut(returned !== undefined && "input" in returned ? returned.input : input),
    outcome: effect.outcome === "open" ? { type: "open" } : cutOutcome(outcomeFrom(effect.outcome, returned)),
    ...{ attempts, ms: ms ?? null, reused: reused ?? null },
    files: (acted?.changes ?? []).map(({ path, kind }) => ({ path, kind })),
    sandbox: acted === undefined ? null : { backend: acted.sandbox, id: acted.id ?? null, isolation: acted.isolation },
    commands: (acted?.commands ?? []).map(({ command, exitCode, ms: took }) => ({ command, exitCode, ms: took })),
    approval: !neededApproval(effect, decision)
      ? null
      : {
          rule: asked?.approval ?? null,
          by: decision?.by ?? null,
          at: decision?.at ?? null,
          approved: decision?.data.approve ?? null,
          reason: decision?.data.reason ?? null,
        },
  };
}

function cutOutcome(outcome: Outcome): object {
  return outcome.type === "ok" ? { type: "ok", value: cut(outcome.value) } : outcome;
}

/** A value that is too long for a line becomes the beginning of its text; the record has it whole. */
function cut(value: unknown): unknown {
  const text = typeof value === "string" ? value : neutralJson(value);
  return text.length <= longest ? (value ?? null) : { cut: clipped(text, longest), characters: text.length };
}
