/** What clients want, and what the database must be afterwards: the day's beginning and these changes. */
export interface Task {
  readonly name: string;
  readonly client: string;
  /** The client's first words. */
  readonly asks: string;
  /** What else the simulated client knows. */
  readonly knows: string;
  readonly changes: readonly string[];
}

const order = (client: string, side: string, symbol: string, quantity: number, price: number) =>
  `INSERT INTO orders (client, side, symbol, quantity, price) VALUES ('${client}', '${side}', '${symbol}', ${quantity}, ${price})`;

export const tasks: readonly Task[] = [
  {
    name: "large",
    client: "C-2",
    asks: "Ben Okoye here, C-2. Buy 100 QNT, limit 310.",
    knows: "If the order is read back to you correctly, say yes.",
    changes: [order("C-2", "buy", "QNT", 100, 310)],
  },
  {
    name: "buy",
    client: "C-1",
    asks: "This is Ana Ferreira, C-1. Buy 40 ORB for me, at 120 at most.",
    knows: "You want nothing else.",
    changes: [order("C-1", "buy", "ORB", 40, 120)],
  },
  {
    name: "too large",
    client: "C-2",
    asks: "Ben Okoye, C-2. I want 200 QNT today, limit 310.",
    knows: "If it is read back to you, say yes. If it is refused, accept that.",
    changes: [],
  },
  {
    name: "restricted",
    client: "C-3",
    asks: "Carla Weiss, C-3. Get me 50 HEX at 80.",
    knows: "You read about HEX in the paper. If it is refused, accept that.",
    changes: [],
  },
  {
    name: "short",
    client: "C-4",
    asks: "Dev Rao, C-4. Sell 200 ORB for me, at 118 or better.",
    knows: "You believe that you have 200. If you have less, sell what you have: say yes to that.",
    changes: [order("C-4", "sell", "ORB", 120, 118)],
  },
  {
    name: "tidy up",
    client: "C-1",
    asks: "Ana Ferreira, C-1. Cancel my open order for ORB, then sell 20 of my LUM, at 45 or better.",
    knows: "You want nothing else.",
    changes: ["UPDATE orders SET status = 'cancelled' WHERE id = 1", order("C-1", "sell", "LUM", 20, 45)],
  },
];
