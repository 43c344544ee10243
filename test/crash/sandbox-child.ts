/**
 * A process that runs a durable run with commands and kills itself at a given point of it.
 *
 * node --import tsx sandbox-child.ts STORE WORKSPACE PLACEMENT MARKER POINT
 */
import { composeRath } from "../../src/openrath.ts";
import { Held } from "../../src/runtime/held.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import type { OpenSandbox } from "../../src/sandbox/sandbox.ts";
import type { Store, Write } from "../../src/store/store.ts";
import { kept } from "../support/other-process.ts";
import { type Point, placed, Work } from "./sandbox-work.ts";

const [file = "", workspace = "", placement = "", marker = "", point = ""] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  Point,
];

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

/** The command that the run is about; others go their way. */
const isMeant = (command: unknown): boolean => String(command).includes("half.txt");

function watched(sandbox: OpenSandbox): OpenSandbox {
  return new Proxy(sandbox, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (name !== "exec") return typeof member === "function" ? member.bind(target) : member;
      return async (...[command, options]: Parameters<OpenSandbox["exec"]>) => {
        if (!isMeant(command)) return target.exec(command, options);
        if (point === "before the command") await die();
        const onOutput = (): void => void (point === "during the command" && die());
        const result = await target.exec(command, { ...options, onOutput });
        if (point === "after the command") await die();
        return result;
      };
    },
  });
}

const { ready, read } = Held.prototype;
Held.prototype.ready = async function (...given) {
  return watched(await ready.apply(this, given));
};
let commands = 0;
Held.prototype.read = async function (...given) {
  const reading = read.apply(this, given);
  // The first command only counts; in the middle of what the second left.
  if (point === "while its files are read" && ++commands === 2) setImmediate(die);
  const tree = await reading;
  if (point === "after its files were read" && commands++ === 1) await die();
  return tree;
};

function stored(write: Write): string {
  return write.branches.flatMap(({ events }) => events.map(({ envelope }) => Buffer.from(envelope).toString())).join("\n");
}
let returned = 0;
function mortal(store: Store): Store {
  const append = async (write: Write): ReturnType<Store["append"]> => {
    const capturing = write.branches.length === 0 && (write.blobs?.length ?? 0) > 0;
    if (capturing && point === "before the directory is stored") await die();
    const finishing = stored(write).includes('"tool.returned"') && ++returned === 2;
    if (finishing && point === "before the commit") await die();
    const writing = store.append(write);
    if (finishing && point === "during the commit") await die();
    const written = await writing;
    if (capturing && point === "after the directory was stored") await die();
    if (finishing && point === "after the commit") await die();
    return written;
  };
  return new Proxy(kept(store), { get: (target, name) => (name === "append" ? append : (Reflect.get(target, name) as unknown)) });
}
const { store } = Runtime.prototype;
Runtime.prototype.store = async function () {
  return mortal(await store.call(this));
};

const work = new Work(marker);
const rath = composeRath({ store: file, workflows: { work } }, {});
const run = await rath.run("work", placed(rath, placement, workspace), { key: "k" });
await run.settle();
process.stdout.write("the end came before the point\n");
