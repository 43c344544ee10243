/** Every route there is. Of several that fit a path the first answers: `stream` is not the id of anything. */
import type { Route } from "../route.ts";
import { getBlob } from "./blobs.ts";
import { addCheck, getChecks } from "./checks.ts";
import { getDiff } from "./diff.ts";
import { deleteSession, erase } from "./erase.ts";
import { getEvent, getEventLines, getEvents } from "./events.ts";
import { getChanges, getFileContent, getFiles, getPatch } from "./files.ts";
import { getGraph } from "./graph.ts";
import { grepProject, grepSession } from "./grep.ts";
import { health, ready } from "./health.ts";
import { importSession } from "./imports.ts";
import { info } from "./info.ts";
import { cancelJob, getJob, getJobResult, startDossier, startExport } from "./jobs.ts";
import { createKey, exchangeCode, getKey, listAccess, listKeys, revokeKey, rotate } from "./keys.ts";
import { getLineage } from "./lineage.ts";
import { mcp } from "./mcp.ts";
import {
  forgetMemory,
  getMemories,
  getMemory,
  getMemoryDerived,
  getMemoryUses,
  getMemoryVersions,
  getMemoryWhy,
  putMemory,
  retractMemory,
  rollbackMemory,
  searchMemory,
} from "./memory.ts";
import { getMessages, getRequest } from "./messages.ts";
import { metrics } from "./metrics.ts";
import { decide, getDecision, getDecisions, getPending, getPendingOne } from "./pending.ts";
import { cancelRun, getResult, getRun, getRuns, resumeRun, sendSignal, startRun } from "./runs.ts";
import { getSandboxes } from "./sandboxes.ts";
import { forkSession, getConflicts, mergeSessions, noteInSession, rejectSession, sayInSession } from "./session-verbs.ts";
import { createSession, getSession, getSessions } from "./sessions.ts";
import { streamPending, streamProject, streamRun, streamSession } from "./streams.ts";
import { replaySession, rerunSession, verifySession } from "./verify.ts";
import { getBlame, getCost, getWhy } from "./why.ts";
import { getWorkflow, getWorkflows } from "./workflows.ts";

const resources: readonly Route[] = [
  ...[health, ready, info, metrics],
  ...[streamProject, streamSession, streamRun, streamPending],
  ...[createSession, getSessions, getSession, deleteSession],
  ...[sayInSession, noteInSession, rejectSession, forkSession, mergeSessions, getConflicts],
  ...[getEvents, getEventLines, getEvent, getMessages, getRequest, getBlob],
  ...[getGraph, getLineage, getDiff, getWhy, getBlame, getCost, grepSession, grepProject],
  ...[verifySession, replaySession, rerunSession, erase],
  ...[getFiles, getFileContent, getChanges, getPatch, addCheck, getChecks, getSandboxes],
  ...[getWorkflows, getWorkflow],
  ...[startRun, getRuns, getRun, cancelRun, resumeRun, sendSignal, getResult],
  ...[getPending, getPendingOne, decide, getDecision, getDecisions],
  ...[getMemories, searchMemory, getMemory, putMemory, forgetMemory],
  ...[getMemoryVersions, getMemoryWhy, getMemoryUses, getMemoryDerived, retractMemory, rollbackMemory],
  ...[startExport, startDossier, getJob, getJobResult, cancelJob, importSession],
  ...[listKeys, getKey, createKey, revokeKey, rotate, exchangeCode, listAccess],
];

export const routes: readonly Route[] = [...resources, mcp(resources)];
