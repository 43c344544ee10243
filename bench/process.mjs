// A part of a benchmark in a process of its own: the conductor asks it for things, and it may say something unasked.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const network = new URL("./network.mjs", import.meta.url).href;

/** Starts a script that calls `answer`. Whatever is asked or awaited fails when the process ends before. */
export function startProcess(script) {
  const child = fork(fileURLToPath(script), { execArgv: ["--expose-gc", "--import", network], stdio: ["ignore", 2, 2, "ipc"] });
  const exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  const asked = new Map();
  const listeners = new Set();
  let count = 0;
  child.on("message", ({ id, value, error, saying }) => {
    if (saying !== undefined) {
      for (const { resolve } of [...listeners]) resolve(saying);
      return;
    }
    const { resolve, reject } = asked.get(id);
    asked.delete(id);
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  });
  void exited.then((code) => {
    for (const { reject } of [...asked.values(), ...listeners]) reject(new Error(`a process of the benchmark ended with ${code}`));
  });
  return {
    /** The answer to a question: what the verb of the script returns. */
    ask(verb, given) {
      return new Promise((resolve, reject) => {
        asked.set(++count, { resolve, reject });
        child.send({ id: count, verb, given });
      });
    },
    /** The first thing that it says from now on and that is `wanted`. */
    hear(wanted = () => true) {
      return new Promise((resolve, reject) => {
        const listener = {
          reject,
          resolve(saying) {
            if (!wanted(saying)) return;
            listeners.delete(listener);
            resolve(saying);
          },
        };
        listeners.add(listener);
      });
    },
    signal: (name) => child.kill(name),
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
    exited,
  };
}

/** In the script: answers what the conductor asks; ends when it lets go. */
export function answer(verbs) {
  process.on("message", async ({ id, verb, given }) => {
    try {
      process.send?.({ id, value: await verbs[verb](given) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.on("disconnect", () => process.exit(0));
}

/** In the script: tells the conductor something. */
export function say(saying) {
  process.send?.({ saying });
}
