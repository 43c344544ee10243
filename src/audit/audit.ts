/**
 * Questions about a session's record: what is its lineage, and how does it leave this store. Reads only; the one thing it ever
 * adds is what the session had not saved yet, and a signed statement of a run that is exported while it goes on.
 * `verify` and `replay` are on the root door; `why` is on both.
 */

export type { ReplayReport } from "../runtime/replay.ts";
export { type BlameLine, blame } from "./blame.ts";
export type { LineageRow } from "./export/lineage.ts";
export { type WriteFormat, type WriteOptions, write } from "./export/write.ts";
export { type Graph, graph } from "./graph.ts";
export type { GraphEdge, GraphNode } from "./graph-data.ts";
export type { Problem, RecordedErasure, Verification, VerifyOptions } from "./verify.ts";
export { type Why, type WhyHop, type WhyTarget, why } from "./why.ts";
