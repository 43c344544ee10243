import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { machine } from "../workspace/machine.ts";
import { isDeadHere, newWorkerId } from "./worker-id.ts";

const nobody = 1_999_999_999;
const bwrap = spawnSync("bwrap", ["--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"]);
const impossible = bwrap.status === 0 ? undefined : `bubblewrap makes no namespaces here: ${bwrap.error?.message ?? bwrap.stderr}`;
if (impossible !== undefined) console.warn(`skipped: other machines and containers, since ${impossible}`);

test("a process of this machine is dead once it is gone, one of another machine never", () => {
  expect(isDeadHere(newWorkerId())).toBe(false);
  expect(isDeadHere(`${machine()}:${nobody}:t`)).toBe(true);
  expect(isDeadHere(`elsewhere:${nobody}:t`)).toBe(false);
  expect(isDeadHere("no worker")).toBe(false);
});

/** What a process says that sees the system as bubblewrap shows it. */
function seen(...options: string[]): unknown {
  const source = `const { isDeadHere } = await import(${JSON.stringify(fileURLToPath(new URL("worker-id.ts", import.meta.url)))});
    const { isRunning, machine, startOfThis } = await import(${JSON.stringify(fileURLToPath(new URL("../workspace/machine.ts", import.meta.url)))});
    console.log(JSON.stringify({ machine: machine(), self: isRunning(process.pid, startOfThis()), owner: isDeadHere(${JSON.stringify(newWorkerId())}), nobody: isRunning(${nobody}) }));`;
  const node = [process.execPath, "--import", import.meta.resolve("tsx"), "--input-type=module", "-e", source];
  const { stdout, stderr } = spawnSync("bwrap", ["--dev-bind", "/", "/", ...options, ...node], { encoding: "utf8" });
  return stdout === "" ? stderr : JSON.parse(stdout);
}

test.skipIf(impossible !== undefined)("without /proc, as on macOS, a process that answers is alive", () => {
  expect(seen("--tmpfs", "/proc")).toEqual({ machine: hostname(), self: true, owner: false, nobody: false });
});

test.skipIf(impossible !== undefined)("in a container, what another one with the same host name does is nobody's to judge", () => {
  const name = expect.stringMatching(/^.+\/\d+$/);
  expect(seen("--unshare-pid", "--proc", "/proc")).toEqual({ machine: name, self: true, owner: false, nobody: false });
});
