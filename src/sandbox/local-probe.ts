/** Looks once whether this machine can isolate commands, by isolating one and looking at it from inside. */
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, release, tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { RathError } from "../session/errors.ts";
import type { Spawner } from "../workspace/spawner.ts";
import { boundsOf } from "./bounds.ts";
import { findProgram } from "./find-program.ts";
import { findHierarchy, type Group, type Hierarchy, makeGroup } from "./local-cgroup.ts";
import { makeEtc, removeLeftEtc } from "./local-etc.ts";
import { killNamespace } from "./local-kill.ts";
import { type Machine, placed, systemEtc } from "./local-profile.ts";
import { seccompFilter } from "./local-seccomp.ts";
import { asText, runCommand } from "./run-command.ts";

export interface Found {
  readonly machine: Machine;
  /** Where control groups are made; undefined where processes are counted by their namespace. */
  readonly hierarchy: Hierarchy | undefined;
}

/** Rejects with `sandbox.unavailable` when anything is not as it should be. */
export async function probe(spawner: Spawner): Promise<Found> {
  try {
    return await findOut(spawner);
  } catch (error) {
    if (RathError.is(error, "sandbox.unavailable")) throw error;
    throw notIsolated(error instanceof Error ? error.message : String(error));
  }
}

async function findOut(spawner: Spawner): Promise<Found> {
  if (process.platform !== "linux")
    throw unavailable(`it needs Linux, and this is ${process.platform}`, "Run it on Linux, or in a virtual machine.");
  const filter = seccompFilter(process.arch);
  if (filter === undefined)
    throw unavailable(`its filter of system calls is not written for ${process.arch}`, "Use an x64 or arm64 machine.");
  const bubblewrap = program("bwrap", "bubblewrap");
  const prlimit = program("prlimit", "util-linux");
  const disableUserNamespaces = (await ask(spawner, [bubblewrap, "--help"])).stdout.includes("--disable-userns");
  const etc = systemEtc.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());
  const machine = { bubblewrap, prlimit, filter, root: rootMounts(), etc, node: nodeFolder(), disableUserNamespaces };
  await removeLeftEtc();
  const hierarchy = countProcesses();
  if (hierarchy !== undefined && !isRoot()) {
    // A part of the hierarchy that looks as if it were given to this user may not be; then each namespace is counted.
    const usable = await isolates(spawner, { machine, hierarchy }).then(
      () => true,
      () => false,
    );
    if (usable) return { machine, hierarchy };
  }
  const found = { machine, hierarchy: isRoot() ? hierarchy : undefined };
  await isolates(spawner, found);
  return found;
}

function program(name: string, from: string): string {
  const path = findProgram(name);
  if (path === undefined)
    throw unavailable(`the program ${name} is not installed`, `Install it: apt install ${from}, or dnf install ${from}.`);
  return path;
}

async function ask(spawner: Spawner, argv: readonly string[]) {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  return asText(await runCommand(spawner, { argv, env, timeMs: 10_000, output: 1 << 20, kill: (command) => command.kill() }));
}

/** Root is bound by no count of its processes, so it needs control groups; for others the kernel counts each namespace apart. */
function countProcesses(): Hierarchy | undefined {
  const hierarchy = findHierarchy();
  if (hierarchy !== undefined) return hierarchy;
  if (isRoot())
    throw unavailable(
      "root's processes can only be limited by a control group, and none can be made in /sys/fs/cgroup",
      "Run it as an ordinary user, or make the control groups writable.",
    );
  const [major = 0, minor = 0] = release().split(".").map(Number);
  if (major < 5 || (major === 5 && minor < 14))
    throw unavailable(
      `Linux ${release()} does not count the processes of one sandbox`,
      "Use Linux 5.14 or newer, or run it where control groups are writable.",
    );
  return undefined;
}

/** Root of the machine; root of a container with user namespaces is an ordinary user to the kernel. */
function isRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  const [, outside] = readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/);
  return outside === "0";
}

/** /usr, and what lies beside it: links into it on most systems, directories on older ones. */
function rootMounts(): readonly string[] {
  const beside = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => {
    const entry = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink()) return ["--symlink", readlinkSync(`/${name}`), `/${name}`];
    return entry?.isDirectory() ? ["--ro-bind", `/${name}`, `/${name}`] : [];
  });
  return ["--ro-bind", "/usr", "/usr", ...beside];
}

/**
 * Commands may use the Node that runs this, where its folder is a program's own (/opt/node). One in a home, as version managers
 * install it, is left out: beside it lie other things of its owner, and the way to it would be shown.
 */
export function nodeFolder(program = process.execPath, homes: readonly string[] = [...ownHome(), "/home", "/root"]): string | undefined {
  const folder = dirname(dirname(program));
  const system = ["/usr", "/bin", "/sbin"].some((place) => posix.join(program).startsWith(`${place}/`));
  const atHome = homes.some((home) => home !== "/" && `${folder}/`.startsWith(`${home}/`));
  const ownFolder = folder.split("/").length > 2 && program === join(folder, "bin", "node");
  return system || atHome || !ownFolder ? undefined : folder;
}

/** In a container a user may be a number without an entry and without `HOME`: then it has no home. */
function ownHome(): readonly string[] {
  try {
    return [homedir()];
  } catch {
    return [];
  }
}

const spaces = ["user", "pid", "net", "mnt", "ipc", "uts"] as const;
const look = `id -u; id -g; for each in ${spaces.join(" ")}; do readlink /proc/self/ns/$each; done; ulimit -u
grep -hE '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ls -A /`;

async function isolates(spawner: Spawner, { machine, hierarchy }: Found): Promise<void> {
  const bounds = boundsOf({ processes: 32 });
  await using etc = await makeEtc(machine.etc, { network: false });
  const workspace = await mkdtemp(join(tmpdir(), "openrath-probe-"));
  let group: Group | undefined;
  try {
    group = hierarchy && (await makeGroup(hierarchy, bounds));
    const placing = { machine, etc: etc.directory, workspace: { from: workspace, writable: true }, layers: [], env: {}, bounds };
    const joined = { ...placing, join: group?.join ?? [], enter: [], counted: group !== undefined, network: "own" as const };
    const run = { ...placed(joined, ["/bin/bash", "-c", look], "/"), timeMs: 10_000, output: 1 << 20, kill: killNamespace };
    const result = asText(await runCommand(spawner, run));
    if (result.exitCode !== 0) throw notIsolated(result.stderr.trim() || `exit code ${result.exitCode}`);
    const wrong = differences(result.stdout.trim().split("\n"), machine, group === undefined ? "33" : undefined);
    if (wrong !== undefined) throw notIsolated(wrong);
  } finally {
    await group?.remove();
    await rm(workspace, { recursive: true, force: true });
  }
}

/** What a command in the sandbox saw that it should not have; undefined when all is as it should be. */
function differences(lines: readonly string[], machine: Machine, processes: string | undefined): string | undefined {
  const [uid, gid, ...rest] = lines;
  if (uid !== "65534" || gid !== "65534") return `a command ran as user ${uid}, group ${gid}`;
  const shared = spaces.find((space, index) => rest[index] === readlinkSync(`/proc/self/ns/${space}`));
  if (shared !== undefined) return `a command shared the ${shared} namespace of the host`;
  const [limit, ...more] = rest.slice(spaces.length);
  if (processes !== undefined && limit !== processes) return `a command had a limit of ${limit} processes, not ${processes}`;
  const status = more.slice(0, 4).map((line) => line.replace(/\s+/, ""));
  const expected = ["CapEff:0000000000000000", "CapBnd:0000000000000000", "NoNewPrivs:1", "Seccomp:2"];
  const missing = expected.find((line) => !status.includes(line));
  if (missing !== undefined) return `a command ran without ${missing}`;
  const allowed = new Set(["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "proc", "dev", "tmp", "workspace"]);
  if (machine.node !== undefined) allowed.add(machine.node.split("/")[1] as string);
  const seen = more.slice(4).find((name) => !allowed.has(name));
  return seen === undefined ? undefined : `a command saw /${seen}`;
}

function notIsolated(reason: string): RathError {
  if (/unknown option/i.test(reason)) return unavailable(reason, "Install bubblewrap 0.7 or newer.");
  const remedy =
    "Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), kernel.apparmor_restrict_unprivileged_userns=0 " +
    "or an AppArmor profile for bwrap (Ubuntu), user.max_user_namespaces above 0; in a container, run it with --privileged or outside.";
  return unavailable(reason, remedy);
}

export function unavailable(reason: string, remedy: string): RathError {
  const others = `Or choose another placement by name: "memory" (no programs of the system), "host" (no isolation at all).`;
  return new RathError("sandbox.unavailable", `The sandbox "local" cannot isolate commands here: ${reason}. ${remedy} ${others}`, {
    details: { sandbox: "local", reason },
  });
}
