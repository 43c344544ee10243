/** What `npm run setup` does about programs that npm does not bring, on machines of all kinds. */
import { expect, test } from "vitest";

interface Machine {
  readonly platform: string;
  readonly root: boolean;
  readonly strict: boolean;
  find(name: string): string | undefined;
  run(command: string, args: readonly string[]): { readonly status: number; readonly stdout: string; readonly stderr: string };
  say(text: string): void;
}
interface Checked {
  readonly found: string;
  readonly next?: string;
  readonly warning?: string;
}
const file = new URL("../../scripts/setup-programs.mjs", import.meta.url).href;
const { checkBrowser, checkSandbox } = (await import(file)) as Record<"checkBrowser" | "checkSandbox", (on: Machine) => Checked>;

/** A machine with these programs; what was run on it is remembered. */
function machineWith(
  programs: readonly string[],
  { lists = true, broken = false, ...rest }: Partial<Machine> & { lists?: boolean; broken?: boolean } = {},
) {
  const there = new Set(programs);
  const ran: string[] = [];
  let known = lists;
  const on: Machine = {
    ...{ platform: "linux", root: true, strict: false },
    find: (name) => (there.has(name) ? `/usr/bin/${name}` : undefined),
    run: (command, args) => {
      ran.push([command, ...args].join(" "));
      if (args.includes("update")) known = !broken;
      if (args.includes("install") && known && !broken) there.add("bwrap");
      const failed = args.includes("install") && !there.has("bwrap");
      return { status: failed ? 100 : 0, stdout: "bubblewrap 0.8.0\n", stderr: failed ? "E: Unable to locate package bubblewrap\n" : "" };
    },
    say: (text) => void ran.push(text.trim()),
    ...rest,
  };
  return { on, ran };
}
const looked = ["/usr/bin/bwrap --version", "/usr/bin/bwrap --unshare-user --ro-bind / / true"];
const told = "installing the package bubblewrap with apt-get";
const install = "/usr/bin/apt-get install --yes --no-install-recommends bubblewrap";

test("what is there is left as it is", () => {
  const { on, ran } = machineWith(["bwrap", "apt-get"]);
  expect(checkSandbox(on)).toEqual({ found: "bubblewrap 0.8.0" });
  expect(ran).toEqual(looked);
});

test("root of Debian gets it, and is told so", () => {
  const { on, ran } = machineWith(["apt-get"]);
  expect(checkSandbox(on)).toEqual({ found: "bubblewrap 0.8.0, installed now" });
  expect(ran).toEqual([told, install, ...looked]);
  expect(checkSandbox(on)).toEqual({ found: "bubblewrap 0.8.0" });
});

test("the lists of packages are fetched only when it is not in them", () => {
  const { on, ran } = machineWith(["apt-get"], { lists: false });
  expect(checkSandbox(on)).toEqual({ found: "bubblewrap 0.8.0, installed now" });
  expect(ran).toEqual([told, install, "/usr/bin/apt-get update", install, ...looked]);
});

test("one that is there and may not make namespaces is no sandbox", () => {
  const run: Machine["run"] = (_, [first]) =>
    first === "--version"
      ? { status: 0, stdout: "bubblewrap 0.8.0\n", stderr: "" }
      : { status: 1, stdout: "", stderr: "bwrap: setting up uid map: Permission denied\n" };
  const { found, warning } = checkSandbox(machineWith(["bwrap"], { run }).on);
  expect(found).toContain("may not isolate (bwrap: setting up uid map: Permission denied)");
  expect(warning).toContain("kernel.apparmor_restrict_unprivileged_userns=0");
  expect(checkSandbox(machineWith(["bwrap"], { run, strict: true }).on)).toMatchObject({ next: warning });
});

test("an installation that fails is told with its reason, and in CI a failure", () => {
  const { on } = machineWith(["apt-get"], { lists: false, broken: true });
  expect(checkSandbox(on)).toMatchObject({ warning: expect.stringContaining("apt-get install bubblewrap") });
  const { found, next } = checkSandbox(machineWith(["apt-get"], { lists: false, broken: true, strict: true }).on);
  expect(found).toContain("could not be installed (E: Unable to locate package bubblewrap)");
  expect(next).toContain("apt-get install bubblewrap");
});

test.each([
  ["without root", { root: false }, ["apt-get"]],
  ["without apt-get", {}, []],
  ["elsewhere than on Linux", { platform: "darwin" }, []],
] as const)("%s it is a warning that says what to do, and in CI a failure", (_, options, programs) => {
  const { warning, next, found } = checkSandbox(machineWith(programs, options).on);
  expect([typeof warning, next]).toEqual(["string", undefined]);
  expect(found).toContain('the placement "local" and a part of the tests need it');
  const strict = checkSandbox(machineWith(programs, { ...options, strict: true }).on);
  expect([typeof strict.next, strict.warning]).toEqual(["string", undefined]);
});

test("a browser under any of its names is enough, on every system", () => {
  expect(checkBrowser(machineWith(["google-chrome"], { platform: "darwin" }).on)).toEqual({ found: "bubblewrap 0.8.0" });
  const { found, warning } = checkBrowser(machineWith([], { platform: "darwin" }).on);
  expect(found).toContain("the tests of the inspector need it");
  expect(warning).toContain("CHROMIUM");
});
