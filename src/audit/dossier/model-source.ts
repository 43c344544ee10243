/**
 * Where the reply of a model came from, as far as the record tells. A reply that a provider gave has a price, or the remark that it
 * has none; scripted and recorded models cost nothing by nature, and have a price only where the user names one for them. Where it
 * could be either, it counts as live: nothing is called repeatable that may depend on a provider.
 */
import { dataOf, type Effect } from "./effects.ts";

/** Scripted and recorded replies come again in every run; a live one depends on its provider. None: there is no reply. */
export type ModelSource = "scripted" | "recorded" | "live" | "none";

/** Where the reply of a model call came from. */
export function sourceOf({ call, result }: Effect): ModelSource {
  const asked = dataOf(call, "model.called")?.model;
  const reply = dataOf(result, "model.returned");
  if (reply === undefined || result?.facts.outcome !== "ok") return "none";
  const free = reply.price === undefined && reply.unpriced !== true;
  if (reply.model === "scripted" && (free || reply.price?.table === "own")) return asked === "recorded" ? "recorded" : "scripted";
  if (!free) return asked === "recorded" && reply.price?.table === "own" ? "recorded" : "live";
  // A model of one's own may say of itself that it is free: then its reply has no id of a provider and it is called what it was asked as.
  return asked === "recorded" || reply.id !== undefined || reply.model?.includes("/") === true ? "recorded" : "live";
}

/** What a source means, in a few words. */
export const sourceWords: Readonly<Record<ModelSource, string>> = {
  scripted: "scripted: the same in every run",
  recorded: "recorded: said again from an earlier session",
  live: "live: depends on the provider",
  none: "no reply",
};
