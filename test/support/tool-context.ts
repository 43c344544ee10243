/** What a tool is given, around a sandbox and without a runtime; and a way to call a tool as the runtime would. */
import { memorySandbox } from "../../src/sandbox/memory.ts";
import type { Sandbox, Tool, ToolContext } from "../../src/session/session.ts";

export interface Bench {
  readonly sandbox: Sandbox;
  /** What was told while tools ran. */
  readonly told: string[];
  /** Validates, then runs. */
  call<Input, Output>(tool: Tool<Input, Output>, input: NoInfer<Input> | object): Promise<Output>;
  text(path: string): Promise<string>;
}

export async function bench(files: Readonly<Record<string, string | Uint8Array>> = {}, around: Partial<ToolContext> = {}): Promise<Bench> {
  const sandbox = around.sandbox ?? (await memorySandbox().open({ session: "s", directory: undefined, network: "none", env: {} }));
  for (const [path, content] of Object.entries(files)) await sandbox.write(path, content);
  const told: string[] = [];
  const context = {
    sandbox,
    signal: new AbortController().signal,
    key: "key",
    deps: {},
    progress: (update: unknown) => told.push(String(update)),
    get session(): never {
      throw new Error("there is no session here");
    },
    ...around,
  } as unknown as ToolContext;
  return {
    sandbox,
    told,
    call: async (tool, input) => {
      const checked = await tool["~tool"].validate(input);
      if ("problems" in checked) throw new Error(`invalid: ${checked.problems.join("; ")}`);
      return tool["~run"](checked.value as never, context);
    },
    text: async (path) => Buffer.from(await sandbox.read(path)).toString(),
  };
}
