/** What the broker may do. Tools that write hand the key of their call to the database: made again after a crash, a call changes nothing. */
import { tool } from "openrath";
import { z } from "zod";
import type { Ledger } from "./ledger.ts";
import { approveAbove } from "./policy.ts";

const client = z.string().describe("like C-1");
const whole = z.int().min(1);
export const Order = z.object({ client, side: z.enum(["buy", "sell"]), symbol: z.string(), quantity: whole, price: whole });

export const toolsOn = ({ rows, account, change }: Ledger) => [
  tool({
    name: "account",
    description: "A client's cash, bank, holdings, orders and day limit.",
    input: z.object({ client }),
    writes: "nothing",
    run: (asked) => JSON.parse(account(asked.client)),
  }),
  tool({
    name: "quotes",
    description: "All instruments, with prices and whether they are restricted.",
    input: z.object({}),
    writes: "nothing",
    run: () => rows("SELECT * FROM instruments"),
  }),
  tool({
    name: "place_order",
    description: "Places a limit order, which is filled at once or stays open.",
    input: Order,
    repeat: "keyed",
    needsApproval: ({ quantity, price }) => quantity * price > approveAbove,
    run: ({ client, side, symbol, quantity, price }, { key }) => change(key, client, place, client, side, symbol, quantity, price),
  }),
  tool({
    name: "cancel_order",
    description: "Cancels an open order of a client.",
    input: z.object({ client, order: whole }),
    repeat: "keyed",
    run: ({ client, order }, { key }) => change(key, client, cancel, client, order),
  }),
  tool({
    name: "transfer_cash",
    description: "Moves dollars between a client's own accounts: from bank to desk, or, when negative, from desk to bank.",
    input: z.object({ client, amount: z.int() }),
    repeat: "keyed",
    run: ({ client, amount }, { key }) => change(key, client, transfer, amount, amount, client),
  }),
];

const place = "INSERT INTO orders (client, side, symbol, quantity, price) VALUES (?, ?, ?, ?, ?)";
const cancel = "UPDATE orders SET status = 'cancelled' WHERE client = ? AND id = ? AND status = 'open'";
const transfer = "UPDATE clients SET cash = cash + ?, bank = bank - ? WHERE id = ?";
