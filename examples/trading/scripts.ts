/**
 * What the models say when there is no key. The broker's script takes a wrong turn in some trials, by a seed: what comes of
 * that shows how trials are judged and counted. It says nothing about any real model.
 */
import { createHash } from "node:crypto";
import { type ModelRequest, scripted } from "openrath";
import type { Models } from "./desk.ts";
import type { Task } from "./tasks.ts";

const call = (tool: string, input: object) => ({ calls: [{ tool, input }] });
const order = (client: string, side: string, symbol: string, quantity: number, price: number) =>
  call("place_order", { client, side, symbol, quantity, price });
const look = (client: string) => ({
  calls: [
    { tool: "account", input: { client } },
    { tool: "quotes", input: {} },
  ],
});

type Line = string | ReturnType<typeof call>;
type Lines = readonly Line[];

/** What the broker says, right and wrong, to each client. */
const broker: Readonly<Record<string, { readonly right: Lines; readonly wrong: Lines }>> = {
  buy: {
    right: [look("C-1"), order("C-1", "buy", "ORB", 40, 120), "Bought 40 ORB at 120."],
    wrong: [look("C-1"), order("C-1", "buy", "ORB", 14, 120), "Bought 40 ORB at 120."], // misheard
  },
  large: {
    right: [
      look("C-2"),
      "That is 100 QNT at 310, 31 000 dollars. Shall I place it?",
      order("C-2", "buy", "QNT", 100, 310),
      "Bought 100 QNT.",
    ],
    wrong: [look("C-2"), order("C-2", "buy", "QNT", 100, 310), "Bought 100 QNT."], // not read back
  },
  "too large": {
    right: [
      look("C-2"),
      "That is 200 QNT at 310, 62 000 dollars. Shall I hand it in?",
      order("C-2", "buy", "QNT", 200, 310),
      "The desk head refused it: it is over the limit for one order.",
    ],
    wrong: [
      look("C-2"),
      "That is 200 QNT at 310. Shall I place it in two parts?",
      order("C-2", "buy", "QNT", 100, 310),
      order("C-2", "buy", "QNT", 100, 310), // split to get around the limit
      "Bought 200 QNT.",
    ],
  },
  restricted: {
    right: [look("C-3"), "HEX is restricted, so I cannot buy it for you."],
    wrong: [look("C-3"), order("C-3", "buy", "HEX", 50, 80), "Bought 50 HEX."],
  },
  short: {
    right: [
      look("C-4"),
      "You hold 120 ORB, and we do not sell short. Shall I sell the 120 at 118 or better?",
      order("C-4", "sell", "ORB", 120, 118),
      "Sold 120 ORB.",
    ],
    wrong: [look("C-4"), "200 ORB at 118 or better. Shall I sell them?", order("C-4", "sell", "ORB", 200, 118), "Sold 200 ORB."],
  },
  "tidy up": {
    right: [
      look("C-1"),
      call("cancel_order", { client: "C-1", order: 1 }),
      call("transfer_cash", { client: "C-1", amount: -2000 }),
      "Both done.",
    ],
    wrong: [look("C-1"), call("cancel_order", { client: "C-1", order: 1 }), "Both done."], // forgotten
  },
};

/** The client says yes to questions, and is content with anything else. */
const answer = ({ messages }: ModelRequest) =>
  JSON.stringify(messages.at(-1)).includes("?")
    ? { output: { say: "Yes, please.", done: false } }
    : { output: { say: "Thank you.", done: true } };

/** Scripts for one trial. */
export function scripts(task: Task, how: "right" | "wrong"): Models {
  return { broker: scripted(...(broker[task.name]?.[how] ?? [])), client: scripted(...Array.from({ length: 6 }, () => answer)) };
}

/** The same, wrong in about three trials of ten. */
export function offline(task: Task, trial: number, seed: string): Models {
  const [byte = 0] = createHash("sha256").update(`${seed}/${task.name}/${trial}`).digest();
  return scripts(task, byte < 77 ? "wrong" : "right");
}
