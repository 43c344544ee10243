// One subject in its own process: node --expose-gc subject.mjs NAME [--quick]. The rows go to the parent.
import "./network.mjs";

for (const name of Object.keys(process.env)) if (/^(LANGSMITH|LANGCHAIN|OPENAI)_/.test(name)) delete process.env[name];
process.env.OPENAI_AGENTS_DISABLE_TRACING = "1";
process.env.LANGSMITH_TRACING = "false";
process.env.LANGCHAIN_TRACING_V2 = "false";

const [name, ...flags] = process.argv.slice(2);
const { measure } = await import(`./ours/${name}.mjs`);
const rows = await measure({ quick: flags.includes("--quick") });
if (process.send) process.send(rows, () => process.exit(0));
else console.log(rows);
