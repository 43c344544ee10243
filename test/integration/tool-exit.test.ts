/** A process whose tools never come back ends all the same, once its work was stopped and its Rath closed. */
import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { builtDoor } from "../support/built.ts";

const root = new URL("../../", import.meta.url).pathname;
const door = await builtDoor();

const program = (tool: string, then: string): string => `
import { z } from "zod";
import { Agent, openrath, scripted, tool } from ${JSON.stringify(door)};
let resolve; const started = { promise: new Promise((r) => { resolve = r; }), resolve: () => resolve() };
const used = tool({ name: "t", description: "d", input: z.object({}), run: () => { started.resolve(); return new Promise(() => {}); }, ${tool} });
const agent = new Agent({ model: scripted({ calls: [{ tool: "t", input: {} }] }, "done"), tools: [used] });
const rath = openrath({ store: "memory" });
${then}
`;

/** What it printed, and how it ended; killed when it does not end by itself. */
async function ended(code: string): Promise<{ readonly said: string; readonly exit: number | null }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    said += String(chunk);
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
  const exit = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  clearTimeout(timer);
  return { said: said.trim(), exit };
}

describe("a process ends by itself", () => {
  test.each([
    ["a safe tool", 'repeat: "safe"', "await started.promise;", "cancelled cancelled"],
    ["a tool that may not be repeated", 'repeat: "once"', "await started.promise;", "cancelled unknown"],
    [
      "a tool that waits to be tried again",
      'repeat: "safe", retry: { attempts: 20 }, run: () => { started.resolve(); throw new Error("no"); }',
      "await started.promise; await new Promise((resolve) => setTimeout(resolve, 900));",
      "cancelled error",
    ],
    [
      "a person",
      "needsApproval: true",
      "while ((await rath.pending()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));",
      "cancelled cancelled",
    ],
  ])("after it was stopped in %s", async (_, tool, wait, expected) => {
    const then = `const stream = agent.stream(rath.session("go")); ${wait} await stream.cancel("enough");
      const session = await stream.result(); console.log(session.stop, session.calls[0].outcome.type); await rath.close();`;
    expect(await ended(program(tool, then))).toEqual({ said: expected, exit: 0 });
  });

  test("after its Rath was closed in the middle of a run", async () => {
    const then = `const run = await rath.run(agent, rath.session("go")); await started.promise; await rath.close(); console.log("closed");`;
    expect(await ended(program('repeat: "once", timeout: "1h"', then))).toEqual({ said: "closed", exit: 0 });
  });
});
