/** What the models say where there is no key: functions of what they are asked, so that any worker may ask at any time. */
import { type ModelRequest, scripted } from "openrath";
import { type Ticket, tickets } from "./tickets.ts";

/** The ticket that a request is about. */
function asked(request: ModelRequest): Ticket {
  const [, id] = /Ticket (T-\d\d)/.exec(JSON.stringify(request.messages)) ?? [];
  return tickets.find((ticket) => ticket.id === id) as Ticket;
}

const call = (tool: string, input: object) => ({ calls: [{ tool, input }] });

/** What the tools said last. */
const results = (request: ModelRequest): string => JSON.stringify(request.messages.at(-1));

const billed = (request: ModelRequest): string =>
  /"receipt/.test(results(request))
    ? `We have paid back ${asked(request).refund?.toFixed(2)} euros for order ${asked(request).order}.`
    : `We are sorry: this refund for order ${asked(request).order} was not granted.`;

export const scripts = {
  "support/router": scripted((request, { routes }) => {
    const { route } = asked(request);
    const choice = route[routes.length] ?? "done";
    return { output: { choice, reason: choice === "done" ? "the customer has an answer" : `it is next of ${route.join(", ")}` } };
  }),
  "support/billing": scripted(
    (request) => call("find_order", { order: asked(request).order }),
    (request) => {
      const { order, refund } = asked(request);
      if (refund !== undefined) return call("refund", { order, amount: refund });
      const price = results(request)
        .match(/\d+(?:\.\d+)?/g)
        ?.at(-1);
      return `This is what we have on record for order ${order}: ${Number(price).toFixed(2)} euros.`;
    },
    billed,
  ),
  "support/technical": scripted(
    (request) => call("search_files", { pattern: asked(request).trace }),
    (request) => {
      const { id, trace } = asked(request);
      const line = /\d{4}-[^"\\]*/.exec(results(request))?.[0] ?? "nothing in the logs";
      const note = call("write_file", { path: "note.md", content: `${id}: ${line}\n` });
      return { calls: [...note.calls, ...call("remember", { key: `trace-${trace}`, content: line }).calls] };
    },
    (request) => `We found trace ${asked(request).trace} in our logs, know what went wrong, and are mending it.`,
  ),
  "support/goodwill": scripted(
    (request) => call("send_voucher", { amount: asked(request).voucher }),
    (request) => `We are sorry. A voucher of ${asked(request).voucher?.toFixed(2)} euros is on its way to you.`,
  ),
};
