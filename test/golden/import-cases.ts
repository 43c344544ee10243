/** Sessions made of files of another format. */
import type { Case } from "./cases.ts";

/** As OpenRath 1 wrote it. */
const lines = [
  {
    type: "header",
    schema_version: 1,
    id: "0b5cfa6e-7d0f-4b1e-9d43-0a8e2f6b8c11",
    created_at: "2025-06-01T10:00:00+00:00",
    parent_session_ids: ["5a9d1c1e-54f3-4c30-8a35-3b1f5a1d2e00"],
    lineage_operator: "session_loop",
    lineage_kind: "op_session_loop",
    lineage_extras: [["round", 2]],
    sandbox_backend: "local",
    sandbox_spec: { image: "python:3.12", env: { TOKEN: "a secret" }, timeout_seconds: 60, working_dir: "/work" },
    sandbox_handle_id: "box-1",
  },
  { type: "chunk", index: 0, kind: "system", payload: { content: "You are careful." } },
  { type: "chunk", index: 1, kind: "user", payload: { content: "What is in a.txt?" } },
  {
    type: "chunk",
    index: 2,
    kind: "assistant",
    payload: { content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "read", arguments: '{"path":"a.txt"}' } }] },
  },
  { type: "chunk", index: 3, kind: "tool_result", payload: { tool_call_id: "c1", name: "read", content: '{"text":"A"}' } },
  { type: "chunk", index: 4, kind: "assistant", payload: { content: "The letter A.", tool_calls: [] } },
  {
    type: "trailer",
    closed_at: "2025-06-01T10:01:00+00:00",
    final_chunk_count: 5,
    cumulative_usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
  },
];

const imported: Case = {
  record: async (rath) => {
    const file = (async function* () {
      for (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`);
    })();
    return (await rath.import(file)).say("Thank you.").do("file", () => "filed");
  },
};

export const importCases: Readonly<Record<string, Case>> = { imported };
