/** The root door. */
export { openrath } from "./openrath.ts";
export type { RathOptions } from "./openrath.ts";
export { replay } from "./runtime/replay.ts";
export { rerun } from "./runtime/rerun.ts";
export { verify } from "./audit/verify.ts";
export { Workflow } from "./workflow/workflow.ts";
export type { OutputOf } from "./workflow/workflow.ts";
export { RathError } from "./session/errors.ts";
export type { Rath } from "./runtime/rath.ts";
export type { Run } from "./runtime/runs.ts";
export type { RunOptions, Settled } from "./runtime/run.ts";
export type { Event, EventKind } from "./session/event.ts";
export type { Check, Content, Decision, EffectContext, Message, Pending, Schema, Session, Tool, ToolContext, Usage } from "./session/session.ts";
