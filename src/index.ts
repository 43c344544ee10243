/** The root door. */

export { Agent } from "./agent/agent.ts";
export { Compressor } from "./agent/compressor.ts";
export { Extractor } from "./agent/extractor.ts";
export type { AgentOptions } from "./agent/options.ts";
export { Selector } from "./agent/selector.ts";
export { diff } from "./audit/diff.ts";
export { verify } from "./audit/verify.ts";
export { why } from "./audit/why.ts";
export { recorded } from "./model/recorded.ts";
export { scripted } from "./model/scripted.ts";
export { openrath } from "./openrath.ts";
export type { RathOptions } from "./rath-options.ts";
export type { Divergence } from "./runtime/divergence.ts";
export type { EraseOptions, EraseTarget } from "./runtime/erase.ts";
export type { EraseReport, Left } from "./runtime/erase-report.ts";
export type { GcOptions, GcReport } from "./runtime/gc.ts";
export type { RunOptions } from "./runtime/queue-run.ts";
export type { Rath } from "./runtime/rath.ts";
export { replay } from "./runtime/replay.ts";
export { type Rerun, type RerunOptions, rerun } from "./runtime/rerun.ts";
export type { OnDivergence, Settled } from "./runtime/run.ts";
export type { Run } from "./runtime/run-handle.ts";
export type { ResumeOptions } from "./runtime/runs.ts";
export type { RunWork, WorkOptions, WorkState } from "./runtime/worker.ts";
export { type ErrorCode, type ErrorDetails, RathError } from "./session/errors.ts";
export type { Event, EventKind } from "./session/event.ts";
export type { ModelRequest } from "./session/message.ts";
export type { Model } from "./session/model.ts";
export type {
  Check,
  Content,
  Decided,
  Decision,
  EffectContext,
  Message,
  Pending,
  Schema,
  Session,
  Tool,
  ToolContext,
  Usage,
} from "./session/session.ts";
export type { Stream, StreamPart } from "./session/stream.ts";
export { tool } from "./tool/tool.ts";
export { best, loop, parallel, race, sequence } from "./workflow/combinators.ts";
export type { OutputOf } from "./workflow/workflow.ts";
export { Workflow } from "./workflow/workflow.ts";
