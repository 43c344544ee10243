/** What every command prints, on a terminal and piped. `UPDATE_GOLDEN=1 npx vitest run test/golden-cli` writes it again: then read it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { goldenFiles, type Line, lineOf, memoryServer } from "./golden.ts";
import { makeWorld, type World } from "./world.ts";

const short = (id: string): string => id.slice(0, 8);
const line = lineOf<World>();

/** The lines of one file share one world, so that one can answer another. */
const files: Readonly<Record<string, readonly Line<World>[]>> = {
  ls: [
    line(() => ["ls"]),
    line(() => ["ls", "--all"]),
    line(() => ["ls", "--limit", "1"]),
    line(() => ["ls", "--tag", "weekly", "--json"]),
    line(() => ["ls", "--status", "rejected"]),
    line(() => ["ls"], { calling: { columns: 60 }, only: "terminal" }),
    line(() => ["ls", "--frobnicate"]),
  ],
  "ls-runs": [
    line(() => ["ls", "--runs"]),
    line(() => ["ls", "--runs", "--status", "waiting", "--json"], { only: "piped" }),
    line(() => ["ls", "--runs", "--status", "running"]),
    line(() => ["ls", "--runs", "--status", "idle"]),
    line(() => ["ls", "--runs", "--tag", "weekly"]),
    line(() => ["ls", "--runs", "--limit", "1"], { only: "terminal" }),
    line(({ run }) => ["show", short(run)]),
    line(({ run }) => ["show", run, "--json"], { only: "piped" }),
    line(() => ["run", "forecast", "--queue", "--priority", "-2", "--deadline", "2027-01-01", "--input", "Later"]),
    line(() => ["run", "forecast", "--queue", "--json", "--key", "tuesday"], { only: "piped" }),
    line(() => ["ls", "--runs", "-n", "1"], { only: "piped" }),
    line(() => ["run", "forecast", "--deadline", "soon"]),
  ],
  cancel: [
    line(({ run }) => ["cancel", short(run), "--reason", "not now"], { only: "terminal" }),
    line(({ run }) => ["cancel", run], { only: "terminal" }),
    line(({ run }) => ["show", run], { only: "terminal" }),
    line(({ asks }) => ["cancel", asks, "--json"], { only: "piped" }),
    line(({ forecast }) => ["cancel", forecast]),
    line(({ hostile }) => ["cancel", hostile]),
    line(() => ["cancel", "ffff"]),
  ],
  send: [
    line(({ run }) => ["send", short(run), "paid", '{"amount":3}', "--key", "a"]),
    line(({ asks }) => ["send", asks, "paid", "in full", "--by", "service:bank", "--json"], { only: "piped" }),
    line(({ forecast }) => ["send", forecast, "paid"]),
    line(() => ["send", "ffff", "paid"]),
  ],
  worker: [
    line(() => ["worker", "--concurrency", "0"]),
    line(() => ["worker", "--health", "nowhere"]),
    line(() => ["worker", "--drain", "soon"]),
    line(() => ["worker", "--help"], { only: "terminal" }),
  ],
  db: [
    line(() => ["db", "check"]),
    line(() => ["db", "backup"]),
    line(() => ["db", "vacuum"]),
    line(() => ["db", "--help"], { only: "terminal" }),
  ],
  show: [
    line(({ forecast }) => ["show", short(forecast)]),
    line(({ forecast }) => ["show", `${forecast}@3`]),
    line(({ contest }) => ["show", contest]),
    line(({ asks }) => ["show", asks]),
    line(({ hostile }) => ["show", hostile]),
    line(({ hostile }) => ["show", hostile, "--json"], { only: "piped" }),
    line(({ draft }) => ["show", draft]),
    line(() => ["show", "ffff"]),
    line(() => ["show", "0000000"]),
  ],
  log: [
    line(({ forecast }) => ["log", forecast, "--limit", "4"]),
    line(({ forecast }) => ["log", forecast, "--oneline"]),
    line(({ hostile }) => ["log", hostile, "--oneline"]),
    line(({ asks }) => ["log", asks, "--jsonl", "-n", "1"], { only: "piped" }),
  ],
  "log-graph": [
    line(({ forecast }) => ["log", forecast, "--graph"]),
    line(({ contest }) => ["log", contest, "--graph"]),
    line(({ contest }) => ["log", contest, "--graph", "--all", "--ascii"], { only: "terminal" }),
    line(({ contest }) => ["log", contest, "--graph", "-n", "3"], { only: "terminal", calling: { env: { NO_COLOR: "1", LANG: "C" } } }),
  ],
  agent: [
    line(() => ["run", "assistant", "--input", "When is high water?"]),
    line(() => ["run", "assistant", "--input", "When is high water?", "--jsonl", "-q"], { only: "piped" }),
    line(() => ["run", "parallel", "--input", "Speak"], { only: "terminal" }),
    line(() => ["run", "assistant", "--budget", "0.0001"]),
    line(({ assistant }) => ["show", assistant]),
    line(({ assistant }) => ["log", assistant, "--oneline"]),
    line(({ assistant }) => ["log", assistant, "-n", "5"], { only: "terminal" }),
    line(({ assistant }) => ["cost", assistant]),
    line(({ assistant }) => ["cost", assistant, "--by", "model"]),
    line(({ assistant }) => ["cost", assistant, "--by", "tool"]),
    line(({ assistant }) => ["cost", assistant, "--by", "agent", "--json"], { only: "piped" }),
    line(({ assistant }) => ["replay", assistant], { only: "terminal" }),
    line(({ assistant }) => ["rerun", assistant, "--set", "message=When is low water?"], { only: "terminal" }),
    line(() => ["chat", "--workflow", "careful"], { calling: { input: "Delete a.txt\nno\n" } }),
    line(() => ["run", "careful"]),
    line(() => ["run", "limited"]),
  ],
  fork: [line(({ forecast }) => ["fork", `${short(forecast)}@3`, "--label", "again"]), line(({ forecast }) => ["fork", `${forecast}@99`])],
  merge: [line(({ forecast, contest }) => ["merge", forecast, contest]), line(({ forecast }) => ["merge", forecast])],
  replay: [
    line(({ forecast }) => ["replay", forecast]),
    line(({ forecast }) => ["replay", forecast, "--workflow", "contest"]),
    line(({ hostile }) => ["replay", hostile]),
    line(({ forecast }) => ["replay", forecast, "--workflow", "nothing"]),
  ],
  rerun: [
    line(({ forecast }) => ["rerun", forecast, "--set", "message=How cold is it?"]),
    line(({ forecast }) => ["rerun", forecast, "--set", "5={}"]),
    line(({ forecast }) => ["rerun", forecast, "--set", "message"]),
  ],
  verify: [
    line(({ forecast }) => ["verify", forecast]),
    line(({ forecast }) => ["verify", forecast, "--json"], { only: "piped" }),
    line(({ forecast }) => ["verify", forecast, "--anchor", "nowhere.jsonl"]),
  ],
  cost: [
    line(({ forecast }) => ["cost", forecast]),
    line(({ contest }) => ["cost", contest, "--by", "agent"]),
    line(({ asks }) => ["cost", asks, "--by", "tool"]),
  ],
  run: [
    line(() => ["run", "forecast", "--input", "How warm is it now?"]),
    line(() => ["run", "forecast", "--json"], { only: "piped" }),
    line(() => ["run", "asks", "--input", "Release 1.3", "--quiet"]),
    line(() => ["run", "asks", "--input", "Release 1.4"]),
    line(() => ["run", "fails"]),
    line(() => ["run", "nothing"]),
    line(() => ["run", "forecast", "--timeout", "soon"]),
  ],
  resume: [
    line(({ run }) => ["resume", run]),
    line(({ question }) => ["approvals", "answer", question, "yes", "--by", "person:7"], { only: "piped" }),
    line(({ asks }) => ["resume", asks], { only: "terminal" }),
    line(({ forecast }) => ["resume", forecast]),
    line(() => ["resume", "ffff"]),
  ],
  approvals: [
    line(() => ["approvals"]),
    line(() => ["approvals", "ls", "--json"], { only: "piped" }),
    line(({ run }) => ["approvals", "ls", "--run", short(run)]),
    line(({ question }) => ["approvals", "show", question.slice(0, 8)]),
    line(({ question }) => ["approvals", "show", question, "--json"], { only: "piped" }),
    line(() => ["approvals", "show", "ffff"]),
    line(({ question }) => ["approvals", "approve", question]),
    line(({ question }) => ["approvals", "answer", question.slice(0, 8), "yes", "--by", "person:7"], { only: "terminal" }),
    line(({ question }) => ["approvals", "answer", question.slice(0, 8), "no"]),
    line(({ question }) => ["approvals", "answer", question.slice(0, 8), "no"], { only: "terminal" }),
    line(({ question }) => ["approvals", "show", question], { only: "terminal" }),
    line(({ question }) => ["approvals", "show", question, "--json"], { only: "piped" }),
    line(() => ["approvals", "show", "nothing"], { only: "terminal" }),
    line(() => ["approvals", "ls"]),
  ],
  resolve: [line(({ question }) => ["resolve", question, "--again"]), line(() => ["resolve", "ffff", "--ok"])],
  diff: [
    line(({ notes, draft }) => ["diff", short(notes), draft]),
    line(({ notes, draft }) => ["diff", `${short(notes)}..${short(draft)}`, "--stat"]),
    line(({ notes, draft }) => ["diff", notes, draft, "--patch"]),
    line(({ notes }) => ["diff", `${notes}@4..${notes}`, "--json", "--patch"], { only: "piped" }),
    line(({ notes }) => ["diff", notes, notes]),
    line(({ notes, forecast }) => ["diff", forecast, notes]),
    line(({ notes }) => ["diff", notes]),
    line(({ notes }) => ["diff", short(notes), "--stat"], { only: "terminal" }),
    line(({ notes }) => ["diff", notes, "--patch", "--json"], { only: "piped" }),
    line(({ forecast }) => ["diff", forecast]),
    line(({ notes }) => ["diff", `${notes}..`]),
    line(({ notes }) => ["diff", notes, "ffff"]),
  ],
  blame: [
    line(({ notes }) => ["blame", short(notes), "notes.md"]),
    line(({ draft }) => ["blame", draft, "notes.md"]),
    line(({ notes }) => ["blame", `${notes}@4`, "notes.md", "--jsonl"], { only: "piped" }),
    line(({ notes }) => ["blame", notes, "nothing.md"]),
    line(({ notes }) => ["blame", notes, "data"]),
  ],
  apply: [
    line(({ notes }) => ["apply", notes, "new", "--dry-run"]),
    line(({ notes }) => ["apply", notes, "new", "--dry-run", "--patch", "--paths", "notes.md"]),
    line(({ notes }) => ["apply", notes, "new"]),
    line(({ notes }) => ["apply", notes, "new", "--paths", "data,./notes.md", "--yes"], { only: "terminal" }),
    line(({ notes }) => ["apply", notes, "new", "--yes", "--json"], { only: "piped" }),
    line(({ notes }) => ["apply", notes, "new"], { only: "terminal" }),
    line(({ draft }) => ["apply", draft, "new", "--yes"]),
    line(({ draft }) => ["apply", draft, "new", "--yes", "--json"], { only: "piped" }),
    line(({ notes }) => ["apply", notes, "new", "--paths", "note.md"]),
    line(({ notes }) => ["apply", notes]),
    line(({ notes }) => ["apply", notes, "nowhere"]),
    line(({ forecast }) => ["apply", forecast, "new"]),
  ],
  sandbox: [
    line(() => ["sandbox"]),
    line(({ notes }) => ["sandbox", "exec", notes, "--", "wc -l notes.md; echo done > done.txt"]),
    line(({ notes }) => ["sandbox", "exec", `${notes}@4`, "--", "cat", "no such file"]),
    line(({ forecast }) => ["sandbox", "exec", forecast, "--", "true"]),
    line(() => ["sandbox", "exec"]),
    line(() => ["sandbox", "rm"]),
    line(() => ["sandbox", "rm", "ffff"]),
    line(() => ["sandbox", "rm", "--orphans"]),
  ],
  gc: [
    line(() => ["gc", "--dry-run"]),
    line(() => ["gc", "--json"], { only: "piped" }),
    line(() => ["gc"], { only: "piped" }),
    line(() => ["gc"]),
    line(() => ["gc", "--older-than", "30d"]),
    line(() => ["gc", "--older-than", "5m"]),
    line(() => ["gc", "--older-than", "soon"]),
  ],
  export: [
    line(({ forecast }) => ["export", forecast, "-", "--format", "lineage-jsonl"], { only: "piped" }),
    line(({ forecast }) => ["export", forecast, "a.jsonl"], { only: "piped" }),
    line(({ forecast }) => ["export", forecast, "a.jsonl"]),
    line(({ forecast }) => ["export", forecast, "a.jsonl", "--yes"], { only: "terminal" }),
    line(({ forecast }) => ["export", forecast, "--format", "html"]),
    line(({ assistant }) => ["export", assistant, "-", "--format", "chat-jsonl"]),
    line(({ contest }) => ["export", contest, "-", "--format", "mermaid"], { only: "piped" }),
    line(({ contest }) => ["export", contest, "lineage.svg", "--format", "svg", "--json"], { only: "piped" }),
    line(({ forecast }) => ["export", forecast, "--format", "otlp"], { only: "terminal" }),
    line(({ forecast }) => ["export", forecast, "-", "--format", "markdown", "--content"]),
    line(({ forecast }) => ["export", forecast, "--to", "http://localhost:4318"]),
    line(({ forecast }) => ["export", forecast, "--format", "otlp", "--to", "nowhere"]),
    line(() => ["export", "--help"], { only: "terminal" }),
  ],
  report: [
    line(({ contest }) => ["export", contest, "-", "--format", "markdown"], { only: "piped" }),
    line(({ draft }) => ["export", draft, "-", "--format", "markdown"], { only: "piped" }),
    line(({ hostile }) => ["export", hostile, "-", "--format", "markdown"], { only: "terminal" }),
  ],
  import: [line(() => ["import", "nowhere.jsonl"]), line(() => ["import", "a.jsonl"])],
  "import-v1": [
    line(() => ["import", "v1/one.jsonl"], { only: "terminal" }),
    line(() => ["import", "v1"], { only: "piped" }),
    line(() => ["import", "v1"], { only: "terminal" }),
    line(() => ["import", "v1/one.jsonl", "--json"], { only: "piped" }),
    line(() => ["show", "7c4ba1e8"], { only: "terminal" }),
    line(() => ["log", "baa8be5f", "--graph"], { only: "terminal" }),
    line(() => ["cost", "7c4ba1e8"], { only: "terminal" }),
    line(() => ["verify", "baa8be5f"], { only: "terminal" }),
    line(() => ["import", "broken.jsonl"]),
  ],
  chat: [line(() => ["chat", "--workflow", "asks"], { calling: { input: "Release 1.5\nyes\n" } }), line(() => ["chat"])],
  mcp: [
    line(() => ["mcp", "test", process.execPath, "--", memoryServer]),
    line(() => ["mcp", "test", "no-such-command"]),
    line(() => ["mcp", "ls"]),
  ],
  help: [
    line(() => ["--help"], { only: "terminal" }),
    line(() => ["help", "run"], { only: "terminal" }),
    line(() => ["lss"]),
    line(() => ["approvals", "approve"]),
  ],
};

/** Session files as OpenRath 1 left them: one, a fork of it that was interrupted, and one that is wrong. */
async function v1Files(folder: string): Promise<void> {
  const said = (index: number, kind: string, content: string): object => ({ type: "chunk", index, kind, payload: { content } });
  const header = { type: "header", schema_version: 1, id: "one", created_at: "2025-06-01T10:00:00+00:00", parent_session_ids: [] };
  const chunks = [said(0, "system", "Be brief."), said(1, "user", "When is high water?"), said(2, "assistant", "At noon.")];
  const trailer = { type: "trailer", closed_at: null, final_chunk_count: 3, cumulative_usage: { prompt_tokens: 20, completion_tokens: 3 } };
  const write = (name: string, lines: readonly object[]): Promise<void> =>
    writeFile(join(folder, name), lines.map((one) => `${JSON.stringify(one)}\n`).join(""));
  await mkdir(join(folder, "v1"));
  await write("v1/one.jsonl", [header, ...chunks, trailer]);
  const forked = { ...header, id: "two", created_at: "2025-06-02T10:00:00+00:00", parent_session_ids: ["one"], lineage_kind: "op_fork" };
  await write("v1/two.jsonl.__partial__", [forked, ...chunks, said(3, "user", "And low water?")]);
  await write("broken.jsonl", [header, said(1, "user", "Too early")]);
}

goldenFiles(files, makeWorld, v1Files);
