/**
 * What a command of `local` sees, as an argument list for bubblewrap: the system's programs read-only, the workspace, and empty
 * places of a fixed size. No file of the host's /etc or of anyone's home, no process, no socket, no variable, no capability.
 *
 * The command is not process 1: that is a shell which waits for it alone and then ends, and with process 1 the kernel ends all that
 * is left in the namespace before anyone learns that the command is over.
 */
import { RathError } from "../session/errors.ts";
import type { SpawnRequest } from "../workspace/spawner.ts";
import type { Bounds } from "./bounds.ts";

/** Where the workspace is in the sandbox. */
export const workspaceRoot = "/workspace";

/** What was found on this machine. */
export interface Machine {
  readonly bubblewrap: string;
  readonly prlimit: string;
  /** The filter of system calls. */
  readonly filter: Uint8Array;
  /** Mounts that make the root: /usr and the links into it. */
  readonly root: readonly string[];
  /** Directories of the host's /etc that are seen. */
  readonly etc: readonly string[];
  /** Where Node is installed, when that is outside /usr and in nobody's home. */
  readonly node: string | undefined;
  /** Newer versions of bubblewrap can forbid user namespaces inside, beside the filter of system calls. */
  readonly disableUserNamespaces: boolean;
}

/** How one command is placed. */
export interface Placing {
  readonly machine: Machine;
  /** The directory with the files of /etc. */
  readonly etc: string;
  readonly workspace: { readonly from: string; readonly writable: boolean };
  readonly layers: readonly { readonly path: string; readonly from: string }[];
  readonly env: Readonly<Record<string, string>>;
  /** "own" is an empty one; "shared" is that of whoever starts it: the host's, or that of the namespaces it enters. */
  readonly network: "own" | "shared";
  readonly bounds: Bounds;
  /** Commands that put it into its control groups and its namespaces; each runs the rest of the list. */
  readonly join: readonly string[];
  readonly enter: readonly string[];
  /** Whether control groups count its processes; else the kernel does, for the namespace. */
  readonly counted: boolean;
  /** Process 1 writes a line end to its output before the command begins: nobody else can, and without it nothing ran. */
  readonly heralded?: boolean | undefined;
}

/** What is to be spawned so that the command runs placed. */
export function placed(placing: Placing, command: readonly string[], cwd: string): Pick<SpawnRequest, "argv" | "env" | "extra"> {
  const { machine, bounds, join, enter } = placing;
  const names = variables(placing.env);
  return {
    argv: [
      ...join,
      machine.prlimit,
      // Memory that is reserved and not used is not counted by `data`: Node, Go and Java reserve far more than they use.
      `--data=${bounds.memory}`,
      `--as=${bounds.memory + reserved}`,
      `--fsize=${bounds.file}`,
      "--nofile=4096",
      "--core=0",
      "--",
      ...enter,
      machine.bubblewrap,
      ...mounts(placing),
      ...confinement(placing),
      "--chdir",
      cwd,
      "--",
      // Inside, since each user namespace has its own count, and outside all processes of the user would be counted.
      ...(placing.counted ? [] : [machine.prlimit, `--nproc=${bounds.processes + 1}`, "--"]),
      "/bin/sh",
      "-c",
      `${names.map((name) => `export "$${name}"; unset ${name}; `).join("")}${placing.heralded === true ? "echo; " : ""}(exec "$@"); exit $?`,
      "sh",
      ...command,
    ],
    // Values go through the environment: argument lists can be read by every user of the machine.
    env: { PATH: systemPath, ...Object.fromEntries(Object.entries(placing.env).map((pair, index) => [names[index], pair.join("=")])) },
    extra: machine.filter,
  };
}

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Address space beyond memory: what one Node with one WebAssembly memory reserves. */
const reserved = 16 * 2 ** 30;

/** Names under which variables travel: none that means anything to the programs on the way. */
function variables(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env).map((name, index) => {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !env[name]?.includes("\0")) return `OPENRATH_${index}`;
    throw new RathError("value.unsupported", `"${name}" cannot be a variable of a sandbox: names are letters, digits and underscores.`, {
      details: { name },
    });
  });
}

function mounts({ machine, etc, workspace, layers, bounds }: Placing): readonly string[] {
  const temporary = String(Math.min(512 * 2 ** 20, Math.floor(bounds.memory / 2)));
  return [
    ...machine.root,
    ...(machine.node === undefined ? [] : ["--ro-bind", machine.node, machine.node]),
    "--ro-bind",
    etc,
    "/etc",
    ...machine.etc.flatMap((path) => ["--ro-bind", path, path]),
    "--proc",
    "/proc",
    // A sandbox of root's is root to the files of /proc/sys, whatever it lacks in capabilities.
    "--remount-ro",
    "/proc",
    "--dev",
    "/dev",
    "--perms",
    "1777",
    "--size",
    String(64 * 2 ** 20),
    "--tmpfs",
    "/dev/shm",
    "--remount-ro",
    "/dev",
    "--perms",
    "1777",
    "--size",
    temporary,
    "--tmpfs",
    "/tmp",
    workspace.writable ? "--bind" : "--ro-bind",
    workspace.from,
    workspaceRoot,
    ...layers.flatMap(({ path, from }) => ["--ro-bind", from, `${workspaceRoot}/${path}`]),
    "--remount-ro",
    "/",
  ];
}

/** Of the host's /etc: certificates, without the keys beside them, and which program stands for which. */
export const systemEtc = [
  "/etc/ssl/certs",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
  "/etc/ca-certificates/extracted",
  "/etc/alternatives",
];

function confinement({ machine, network }: Placing): readonly string[] {
  const path = machine.node === undefined ? systemPath : `${systemPath}:${machine.node}/bin`;
  return [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(network === "own" ? ["--unshare-net"] : []),
    ...(machine.disableUserNamespaces ? ["--disable-userns"] : []),
    "--uid",
    "65534",
    "--gid",
    "65534",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    "--as-pid-1",
    "--hostname",
    "sandbox",
    "--seccomp",
    "3",
    ...Object.entries({ PATH: path, HOME: "/tmp", LANG: "C.UTF-8", TERM: "dumb" }).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}
