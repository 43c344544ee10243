/**
 * The filter of system calls that every command runs under. It takes away what a command never needs and what reaches far into the
 * kernel: other processes' memory, mounts and namespaces, kernel keys, programs in the kernel, clocks, modules, terminals' input.
 * Nor can it leave a file behind that gives who runs it the rights of its owner: to the host that is whoever runs this.
 */
import { assemble, type Line } from "./bpf.ts";

export type Architecture = "x64" | "arm64";

/** The filter for a machine, or undefined where the numbers of its system calls are not known. */
export function seccompFilter(architecture: string): Uint8Array | undefined {
  return architecture === "x64" || architecture === "arm64" ? assemble(filterLines(architecture)) : undefined;
}

const columns = { x64: 0, arm64: 1 } as const;
const audit = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

/** Numbers on x86-64 and on 64-bit ARM; null where there is no such call. */
export const refusedCalls: Readonly<Record<string, readonly [number, number | null]>> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  setns: [308, 268],
  unshare: [272, 97],
  open_by_handle_at: [304, 265],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  create_module: [174, null],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  iopl: [172, null],
  ioperm: [173, null],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  vhangup: [153, 58],
};

/** Calls whose arguments decide. */
export const examinedCalls = {
  open: [2, null],
  openat: [257, 56],
  openat2: [437, 437],
  creat: [85, null],
  chmod: [90, null],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  ioctl: [16, 29],
  socket: [41, 198],
  clone: [56, 220],
  personality: [135, 92],
  clone3: [435, 435],
  mknodat: [259, 33],
  mknod: [133, null],
} as const;

const allow = 0x7fff0000;
const kill = 0x80000000;
const refuse = (errno: number) => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;

/** CLONE_NEWTIME | NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET. */
const newNamespaces = 0x7e020080;
/** AF_UNIX, AF_INET, AF_INET6. AF_NETLINK is allowed for routes alone: programs list interfaces with it. */
const families = [1, 2, 10];
const AF_NETLINK = 16;
/** O_CREAT and O_TMPFILE: without them the permissions of `open` are not read, and may be anything. */
const creates = 0o20000100;
/** S_ISUID and S_ISGID. */
const rightsOfOwner = 0o6000;
/** S_IFCHR and S_IFBLK of S_IFMT. The kernel lets everybody make the device 0:0, by which an overlay says that a file was removed. */
const fileType = 0o170000;
const devices = [0o020000, 0o060000];
/** TIOCSTI types into a terminal, TIOCLINUX pastes into a console. */
const terminalInput = [0x5412, 0x541c];

const number = 0;
const architectureOf = 4;
/** The low half of an argument: the kernel reads no more of these. */
const argument = (index: number) => 16 + 8 * index;

function filterLines(architecture: Architecture): readonly Line[] {
  const column = columns[architecture];
  const examine = (name: keyof typeof examinedCalls, yes: string): Line[] => {
    const value = examinedCalls[name][column];
    return value === null ? [] : [{ jump: "=", value, yes }];
  };
  return [
    { load: architectureOf },
    { jump: "=", value: audit[architecture], no: "foreign" },
    { load: number },
    // Calls of the x32 variant have this bit, and numbers of their own.
    { jump: ">=", value: 0x40000000, yes: "missing" },
    // First what is called most.
    ...examine("openat", "openat"),
    ...examine("open", "open"),
    // Its arguments are behind a pointer, which no filter can follow; libraries fall back to clone. So it is with openat2.
    ...examine("clone3", "missing"),
    ...examine("openat2", "missing"),
    ...examine("creat", "second"),
    ...examine("chmod", "second"),
    ...examine("fchmod", "second"),
    ...examine("fchmodat", "third"),
    ...examine("fchmodat2", "third"),
    ...examine("ioctl", "ioctl"),
    ...examine("socket", "socket"),
    ...examine("clone", "clone"),
    ...examine("personality", "personality"),
    ...examine("mknod", "mknod"),
    ...examine("mknodat", "mknodat"),
    ...Object.values(refusedCalls).flatMap((numbers): Line[] => {
      const value = numbers[column];
      return value === null || value === undefined ? [] : [{ jump: "=", value, yes: "refused" }];
    }),
    { give: allow },

    { label: "ioctl" },
    { load: argument(1) },
    ...terminalInput.map((value): Line => ({ jump: "=", value, yes: "refused" })),
    { give: allow },

    { label: "socket" },
    { load: argument(0) },
    ...families.map((value): Line => ({ jump: "=", value, yes: "allowed" })),
    { jump: "=", value: AF_NETLINK, no: "refused" },
    { load: argument(2) },
    { jump: "=", value: 0, yes: "allowed", no: "refused" },

    { label: "clone" },
    { load: argument(0) },
    { and: newNamespaces },
    { jump: "=", value: 0, yes: "allowed", no: "refused" },

    { label: "personality" },
    { load: argument(0) },
    { jump: "=", value: 0, yes: "allowed" },
    { jump: "=", value: 0xffffffff, yes: "allowed", no: "refused" },

    { label: "mknod" },
    { load: argument(1) },
    { and: fileType },
    ...devices.map((value): Line => ({ jump: "=", value, yes: "refused" })),
    { goto: "second" },
    { label: "mknodat" },
    { load: argument(2) },
    { and: fileType },
    ...devices.map((value): Line => ({ jump: "=", value, yes: "refused" })),
    { goto: "third" },

    { label: "openat" },
    { load: argument(2) },
    { and: creates },
    { jump: "=", value: 0, yes: "allowed" },
    { load: argument(3) },
    { goto: "permissions" },
    { label: "open" },
    { load: argument(1) },
    { and: creates },
    { jump: "=", value: 0, yes: "allowed" },
    { label: "third" },
    { load: argument(2) },
    { goto: "permissions" },
    { label: "second" },
    { load: argument(1) },
    { label: "permissions" },
    { and: rightsOfOwner },
    { jump: "=", value: 0, no: "refused" },

    { label: "allowed" },
    { give: allow },
    { label: "refused" },
    { give: refuse(EPERM) },
    { label: "missing" },
    { give: refuse(ENOSYS) },
    { label: "foreign" },
    { give: kill },
  ];
}
