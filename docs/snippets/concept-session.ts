import { Agent, openrath, scripted } from "openrath";

// #region value
await using rath = openrath({ store: "memory" });
const helper = new Agent({
  name: "helper",
  model: scripted("A value that holds its past."),
  instructions: "Answer briefly.",
});

// nothing is stored yet
const asked = rath.session("What is a session?");
const answered = await helper.forward(asked); // the next value
console.log(asked.messages.length, answered.messages.length); // → 1 2

const picked = await answered.do("pick a number", () => 7, {
  repeat: "safe",
});
console.log(picked.output); // → 7
console.log(answered.output); // → A value that holds its past.
// #endregion value

// #region log
for (const { step, kind, by } of picked.events())
  console.log(step, kind, by);
// → 1 session.created user
// → 2 message.added user
// → 3 workflow.entered helper
// → 4 model.called helper
// → 5 model.returned helper
// → 6 agent.stopped helper
// → 7 workflow.left helper
// → 8 do.called user
// → 9 do.returned user
console.log(picked.at(2).messages.map(({ text }) => text));
// → [ 'What is a session?' ]
// #endregion log

// #region twice
const small = await picked
  .fork("small")
  .do("halve", () => 3.5, { repeat: "safe" });
const large = await picked
  .fork("large")
  .do("double", () => 14, { repeat: "safe" });
console.log(small.output, large.output, picked.output); // → 3.5 14 7
const { label, parents } = small.lineage;
console.log(label, parents[0] === picked.head); // → small true
// #endregion twice
