/** What customers wrote, and what the shop knows. Only `text` is given to the team; the rest is for the scripted models. */

export interface Ticket {
  readonly id: string;
  readonly text: string;
  /** Who works on it, in this order. */
  readonly route: readonly ("billing" | "technical" | "goodwill")[];
  readonly order?: string;
  /** What is to be paid back, or given as a voucher. */
  readonly refund?: number;
  readonly voucher?: number;
  /** What is to be found in the logs. */
  readonly trace?: string;
}

/** Order number → what was paid. */
export const orders: Readonly<Record<string, { readonly item: string; readonly paid: number }>> = {
  A100: { item: "keyboard", paid: 39.9 },
  A101: { item: "monitor", paid: 189 },
  A102: { item: "laptop", paid: 1249 },
  A103: { item: "cable", paid: 8.5 },
  A104: { item: "headset", paid: 49 },
  A105: { item: "desk lamp", paid: 27.5 },
  A106: { item: "chair", paid: 145 },
  A107: { item: "webcam", paid: 64.9 },
  A108: { item: "printer", paid: 119 },
};

export const tickets: readonly Ticket[] = [
  { id: "T-01", text: "My keyboard (A100) came broken, I want my money back.", route: ["billing"], order: "A100", refund: 39.9 },
  { id: "T-02", text: "You lost my parcel for a week. That is no service.", route: ["goodwill"], voucher: 10 },
  { id: "T-03", text: "The monitor of order A101 flickers. Refund please.", route: ["billing"], order: "A101", refund: 189 },
  { id: "T-04", text: "Paying failed three times yesterday, trace 7f3a.", route: ["technical"], trace: "7f3a" },
  { id: "T-05", text: "I want all my money back for the laptop, order A102.", route: ["billing"], order: "A102", refund: 1249 },
  { id: "T-06", text: "Checkout hung (trace 91cc) and I missed the sale!", route: ["technical", "goodwill"], trace: "91cc", voucher: 15 },
  { id: "T-07", text: "What did I pay for order A103?", route: ["billing"], order: "A103" },
  { id: "T-08", text: "The headset of A104 is not what I ordered. Refund!", route: ["billing"], order: "A104", refund: 49 },
  { id: "T-09", text: "The app logs me out all the time, trace c210.", route: ["technical"], trace: "c210" },
  { id: "T-10", text: "Is there an invoice for A105?", route: ["billing"], order: "A105" },
  { id: "T-11", text: "The lamp A105 does not light. Please refund it.", route: ["billing"], order: "A105", refund: 27.5 },
  { id: "T-12", text: "Chair A106 arrived without screws, refund me.", route: ["billing"], order: "A106", refund: 145 },
  { id: "T-13", text: "Nobody answered my last mail for two weeks.", route: ["goodwill"], voucher: 5 },
  { id: "T-14", text: "Search finds nothing since noon, trace d004.", route: ["technical"], trace: "d004" },
  { id: "T-15", text: "How much was the webcam of A107?", route: ["billing"], order: "A107" },
  { id: "T-16", text: "The webcam A107 is blurred. I want a refund.", route: ["billing"], order: "A107", refund: 64.9 },
  { id: "T-17", text: "Error page at checkout, trace e55b.", route: ["technical"], trace: "e55b" },
  { id: "T-18", text: "The box was wet and the gift is ruined.", route: ["goodwill"], voucher: 10 },
  { id: "T-19", text: "Printer A108 prints nothing. Refund.", route: ["billing"], order: "A108", refund: 119 },
  { id: "T-20", text: "Did A100 ship already?", route: ["billing"], order: "A100" },
  { id: "T-21", text: "Two charges for cable A103, refund one.", route: ["billing"], order: "A103", refund: 8.5 },
  { id: "T-22", text: "My cart was emptied at checkout, trace f1f1.", route: ["technical", "goodwill"], trace: "f1f1", voucher: 10 },
  { id: "T-23", text: "Which monitor was in A101?", route: ["billing"], order: "A101" },
  { id: "T-24", text: "Uploads of pictures fail, trace 0b0e.", route: ["technical"], trace: "0b0e" },
];

/** What the team remembers when the day begins. */
export const knowledge = {
  "refund-policy": "Refund policy: broken or wrong goods are paid back in full. Above 50 euros a person must agree.",
  runbook: "Runbook: every error at checkout or payment has a trace id, and its cause is in gateway.log or app.log.",
};
