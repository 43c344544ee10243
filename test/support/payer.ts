import { z } from "zod";
import { tool } from "../../src/tool/tool.ts";

/** A tool that wants an approval, and notes what it paid. */
export function payer(paid: string[], more: object = {}) {
  return tool({
    name: "pay",
    description: "Pays.",
    input: z.object({ to: z.string(), amount: z.number().int().default(1) }),
    needsApproval: true,
    run: ({ to, amount }) => {
      paid.push(`${to} ${amount}`);
      return `paid ${to} ${amount}`;
    },
    ...more,
  });
}
