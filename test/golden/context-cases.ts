/** Programs whose conversations are compressed: each policy once, one after another, and undone. */
import { z } from "zod";
import { Agent, Compressor, scripted, tool } from "../../src/index.ts";
import type { Case } from "./cases.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ n: z.number() }),
  repeat: "safe",
  run: ({ n }) => `${n}: ${"a long result ".repeat(12)}`,
});
const rounds = [1, 2, 3, 4].map((n) => ({ reasoning: "Hm.", text: `Round ${n}.`, calls: [{ tool: "look", input: { n } }] }));

const compressed: Case = {
  record: async (rath) => {
    const model = scripted(...rounds, "Seen.");
    const summary = scripted("They looked four times; nothing is open.");
    const trimmed = await new Agent({ name: "trims", model, tools: [look], context: { trimResults: 20, keep: 1 } }).forward(
      rath.session("Look around."),
    );
    const windowed = await new Agent({ name: "drops", model, tools: [look], context: { window: 300 } }).forward(trimmed.say("Again."));
    const summed = await new Agent({
      name: "sums",
      model,
      tools: [look],
      context: { summariseAt: 250, keep: 60, model: summary, instructions: "One sentence." },
    }).forward(windowed.say("And again."));
    const chosen = await new Compressor({
      policy: (entries) => ({ keep: [entries[0]?.event ?? ""], replacement: "Much was seen." }),
    }).forward(summed);
    const whole = await new Compressor({ policy: "full" }).forward(chosen);
    const long = { ...scripted("never"), id: "own/small", contextWindow: 100 };
    return new Agent({ name: "refused", model: long }).forward(whole.say("Too much?"));
  },
};

export const contextCases = { compressed };
