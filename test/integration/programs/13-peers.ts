// Assignability without importing peers in our .d.ts; and the config file that CLI, server and workers share.
import type { LanguageModelV2, LanguageModelV3 } from "@ai-sdk/provider";
import { Agent, openrath, scripted } from "openrath";

declare const v3: LanguageModelV3;
declare const v2: LanguageModelV2;
export const agents = [
  new Agent({ model: v3 }),
  new Agent({ model: v2 }),
  new Agent({ model: "openai/gpt-5.5" }),
  new Agent({ model: "fast" }),
];

// openrath.config.ts
export const rath = openrath({
  store: process.env["DATABASE_URL"],
  models: {
    fast: v3,
    "openai/*": scripted(
      "hello",
      { calls: [{ tool: "shell", input: { command: "ls" } }] },
      (request) => `you sent ${request.messages.length}`,
    ),
  },
  workflows: { chat: new Agent({ model: "fast" }) },
});
