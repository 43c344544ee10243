import { openrath } from "openrath";

await using rath = openrath();

const question = rath.session("Is it raining?");
const yes = question.fork("yes").say("Take an umbrella.");
const no = question.fork("no").say("Leave it at home.");

console.log(question.messages.length, yes.messages.length, no.messages.length); // → 1 2 2
