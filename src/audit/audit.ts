/**
 * Questions about a session's record: what is its lineage, and how does it leave this store. Reads only; the one thing it ever
 * adds is what the session had not saved yet, and a signed statement of a run that is exported while it goes on.
 * `verify` and `replay` are on the root door.
 */
export { write, type WriteFormat, type WriteOptions } from "./export/write.ts";
export type { LineageRow } from "./export/lineage.ts";
export { type Graph, type GraphEdge, type GraphNode, graph } from "./graph.ts";
export type { Problem, Verification, VerifyOptions } from "./verify.ts";
export type { ReplayReport } from "../runtime/replay.ts";
