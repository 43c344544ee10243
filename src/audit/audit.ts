/**
 * Questions about a session's record: what is its lineage, and how does it leave this store. Reads only; the one thing it ever
 * adds is what the session had not saved yet, and a signed statement of a run that is exported while it goes on.
 * `verify`, `why` and `diff` are on the root door too; `replay` is there alone.
 */

export type { ReplayReport, ReplayStep } from "../runtime/replay.ts";
export type { AskOptions } from "./ask-options.ts";
export { type Bisection, type BisectOptions, type BisectStep, bisect } from "./bisect.ts";
export { type BlameLine, blame } from "./blame.ts";
export {
  type Cost,
  type CostBy,
  type CostOptions,
  type CostRow,
  type CostSum,
  type CrossedBudget,
  cost,
  type Interruption,
} from "./cost.ts";
export { decisions } from "./decisions.ts";
export {
  type Both,
  type Diff,
  type DiffAgent,
  type DiffAnswer,
  type DiffCall,
  type DiffEvent,
  type Differing,
  type DiffFile,
  type DiffItem,
  type DiffMemory,
  type DiffMessage,
  type DiffModel,
  type DiffPlace,
  type DiffReuse,
  type DiffSpent,
  type DiffStep,
  diff,
} from "./diff.ts";
export { type DossierOptions, type DossierReport, dossier } from "./dossier/dossier.ts";
export { type DossiersOptions, type DossiersReport, dossiers } from "./dossier/dossiers.ts";
export type { Claim, DossierEntry } from "./dossier/list-page.ts";
export type { PageOptions } from "./dossier/page.ts";
export type { AtifOptions } from "./export/atif.ts";
export type { ChatOptions } from "./export/chat.ts";
export type { LineageRow } from "./export/lineage.ts";
export type { MarkdownOptions } from "./export/markdown.ts";
export type { OtlpOptions } from "./export/otlp.ts";
export { type WriteFormat, type WriteOptions, type WriteProgress, write } from "./export/write.ts";
export { type Graph, graph } from "./graph.ts";
export type { GraphEdge, GraphNode } from "./graph-data.ts";
export { type GrepHit, type GrepOptions, grep } from "./grep.ts";
export { passHat } from "./pass-hat.ts";
export { type ScanOptions, type ScanReport, type SecretFinding, scan } from "./scan.ts";
export {
  type CheckedParts,
  type Problem,
  type ProblemKind,
  type RecordedErasure,
  type Unchecked,
  type Verification,
  type VerifyOptions,
  verify,
} from "./verify.ts";
export { type Why, type WhyEvidence, type WhyHop, type WhyTarget, why } from "./why.ts";
