/** What the broker may do. Tools that write hand the key of their call to the exchange: made again after a crash, a call changes nothing. */
import { type Session, type ToolContext, tool } from "openrath";
import { z } from "zod";
import { change, type Ledger, openLedger } from "./market.ts";
import { limits } from "./policy.ts";

const client = z.string().describe("like C-1");
const whole = z.int().min(1);
const Order = z.object({ client, side: z.enum(["buy", "sell"]), symbol: z.string(), quantity: whole, price: whole });
const place = "INSERT INTO orders (client, side, symbol, quantity, price) VALUES (?, ?, ?, ?, ?)";
const cancel = "UPDATE orders SET status = 'cancelled' WHERE client = ? AND id = ? AND status = 'open'";

/** What the input of `place_order` comes to. */
export const dollars = (order: unknown) => Order.parse(order).quantity * Order.parse(order).price;

/** The database that a session is linked to. */
export function ledgerOf(session: Session): Ledger {
  const [file = ":memory:"] = [...session.events()].flatMap(({ kind, data }) => (kind === "record.linked" ? [data.id] : []));
  return openLedger(file);
}

function trade({ session, key, deps }: ToolContext, client: string, sql: string, ...values: readonly unknown[]) {
  const delta = change(ledgerOf(session), key, client, sql, ...values);
  (deps as { readonly onTrade: () => void }).onTrade();
  return delta;
}

export const tools = [
  tool({
    name: "account",
    description: "A client's cash, bank, holdings, orders and day limit; and all instruments, with prices and whether they are restricted.",
    input: z.object({ client }),
    writes: "nothing",
    run: ({ client }, { session }) => ledgerOf(session).prepare("SELECT * FROM accounts, market WHERE client = ?").get(client),
  }),
  tool({
    name: "place_order",
    description: "Places a limit order, which is filled at once or stays open.",
    input: Order,
    repeat: "keyed",
    needsApproval: (order) => dollars(order) > limits.approval,
    run: ({ client, side, symbol, quantity, price }, context) => trade(context, client, place, client, side, symbol, quantity, price),
  }),
  tool({
    name: "cancel_order",
    description: "Cancels an open order of a client.",
    input: z.object({ client, order: whole }),
    repeat: "keyed",
    run: ({ client, order }, context) => trade(context, client, cancel, client, order),
  }),
];
