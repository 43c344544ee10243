/** A store with sessions that learned something, and what they remember beside it. */
import { z } from "zod";
import { Agent, Compressor, type Session, scripted, tool } from "../../src/index.ts";
import type { Store } from "../../src/store/store.ts";
import { writeFile } from "../../src/tool/builtin/tools.ts";
import { Flow } from "../support/flow.ts";
import { hostile, rathOn, repeated } from "./world.ts";

export interface MemoryWorld {
  readonly store: Store;
  readonly learned: string;
  readonly guide: string;
  readonly hostile: string;
  readonly call: string;
}

const runTests = tool({
  name: "run_tests",
  description: "Runs the tests.",
  input: z.object({ command: z.string() }),
  repeat: "safe",
  writes: "nothing",
  run: ({ command }) => `${command}: 3 passed`,
});

/** Learns from a tool how tests are run. */
const learn = new Flow(async (session) => {
  const tried = await session.call(runTests, { command: "npm test" });
  const [call] = tried.calls;
  return tried.remember({ key: "test-command", content: "npm test -- --run", because: [call?.id ?? ""] });
}, "learn");

const writer = new Agent({
  name: "writer",
  model: scripted(
    { text: "I write it down.", calls: [{ tool: "write_file", input: { path: "guide.md", content: "# Guide\n\nRun npm test.\n" } }] },
    "The guide says to run npm test.",
    "It is short.",
  ),
  tools: [writeFile],
  memory: { scope: "project" },
});
const shorter = new Compressor({ policy: { summariseAt: 1000, keep: 0 }, model: scripted("A guide was written: run npm test.") });

/** Reads it, writes it down, remembers what it made of it, and goes on from a summary. */
const guide = new Flow(async (session) => {
  const written = await writer.forward(session);
  const kept = await written.remember({ key: "guide", content: { file: "guide.md", says: "run npm test" }, scope: "project" });
  const checked = await kept.check("short", async ({ session: { files } }) => (await files.text("guide.md")).length < 100);
  const recalled = await checked.recall({ key: "test-command" });
  return writer.forward((await shorter.forward(recalled)).say("Is it long?"));
}, "guide");

export const makeMemoryWorld = repeated(async (store): Promise<MemoryWorld> => {
  const rath = rathOn(store);
  const run = async (workflow: Flow, session: Session): Promise<Session> => (await rath.run(workflow, session)).result();
  const learned = await run(learn, rath.session("How are tests run?"));
  const wrote = await run(guide, rath.session("Write a guide: what is the test command?").to("memory"));
  const strange = await rath.session(hostile).remember({ key: `strange ${hostile}`, content: hostile });
  await rath.memory.publish(strange);
  await rath.close();
  return { store, learned: learned.id, guide: wrote.id, hostile: strange.id, call: learned.calls[0]?.id ?? "" };
});
