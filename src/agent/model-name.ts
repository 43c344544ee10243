/** The name under which a model is asked and recorded. */
import type { ModelLike } from "../session/model.ts";

export function modelName(like: ModelLike): string {
  if (typeof like === "string") return like;
  if ("doStream" in like) return `${like.provider.split(".")[0]}/${like.modelId}`;
  return like.id;
}
