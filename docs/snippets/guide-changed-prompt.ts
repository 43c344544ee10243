import { diff, openrath, replay, rerun, scripted } from "openrath";
import { write } from "openrath/audit";
import { record } from "./guide-recorded.ts";
import { Triage } from "./guide-triage.ts";

await write(await record(), "lost-order.jsonl");

// The script stands for the model that the new prompt is tried on.
const call = { calls: [{ tool: "order_status", input: { order: 42 } }] };
const model = scripted(call, "It is lost; a new one is under way.");
const triage = new Triage();
await using rath = openrath({
  store: "memory",
  workflows: { triage },
  models: { "openai/*": model },
});
const before = await rath.import("lost-order.jsonl");
const brief = "You answer customers. Look their order up before you answer. Be brief.";

// #region replay
const report = await replay(before, new Triage(brief)); // calls nothing
console.log(report.identical ? "as recorded" : `${report.field} differs at ${report.at.kind}`);
// → instructions differs at model.called
// #endregion replay

// #region rerun
// The whole of it again: every request has the new prompt, so every call is made.
const whole = await rerun(before, new Triage(brief));
console.log(`${whole.reused} of ${whole.of} results reused`);
// → 0 of 4 results reused

// Only the answer again: what came before that model call is taken from the record,
// the tool's result among it.
const asked = [...before.events()].filter(({ kind }) => kind === "model.called").at(-1);
const last = await rerun(before, triage, { change: { event: asked?.id ?? "", instructions: brief } });
console.log(`${last.reused} of ${last.of} results reused`);
// → 2 of 4 results reused
// #endregion rerun

// #region diff
const { messages } = await diff(before, last.session);
for (const { a, b } of messages) console.log(`- ${a?.text}\n+ ${b?.text}`);
// → - Order 42 is lost. We send it again.
// → + It is lost; a new one is under way.
console.log(last.session.checks.map(({ name, passed }) => `${name}: ${passed}`));
// → [ 'names the order: false' ]
// #endregion diff
