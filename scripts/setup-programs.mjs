// Two programs that npm does not bring: the sandbox "local" needs bubblewrap, the tests of the inspector need Chromium. They are installed
// where that takes no more than apt-get: on Debian and Ubuntu, as root. Elsewhere it is said how. Without them the rest works, so it is
// no failure, except where everything has to be tested (CI) and where an installation was tried and failed.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const bubblewrap = {
  name: "bubblewrap",
  programs: ["bwrap"],
  needs: 'the placement "local" and a part of the tests need it; other placements work without',
  others: "dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap",
  // Namespaces are Linux's.
  anywhere: false,
  // It may be there and still not be allowed to make namespaces.
  works: ["--unshare-user", "--ro-bind", "/", "/", "true"],
  allow:
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), kernel.unprivileged_userns_clone=1 (Debian); then openrath doctor",
};

const chromium = {
  name: "chromium",
  programs: ["chromium", "chromium-browser", "google-chrome"],
  needs: "the tests of the inspector need it; everything else works without",
  others: "install Chromium or Chrome, and name it in CHROMIUM",
  anywhere: true,
};

/** What tests replace. */
export const machine = {
  platform: process.platform,
  root: process.getuid?.() === 0,
  strict: (process.env.CI ?? "") !== "",
  // The folders that the sandbox itself looks into.
  find: (name) =>
    ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/bin", "/sbin"].map((folder) => `${folder}/${name}`).find((path) => existsSync(path)),
  run: (command, args) =>
    spawnSync(command, args, {
      encoding: "utf8",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  say: (text) => console.log(text),
};

export function checkSandbox(on = machine) {
  return check(on, bubblewrap);
}

export function checkBrowser(on = machine) {
  const given = process.env.CHROMIUM ?? "";
  return on === machine && given !== "" && existsSync(given) ? { found: given } : check(on, chromium);
}

function check(on, wanted) {
  const known = versionOf(on, wanted);
  if (on.platform !== "linux" && !wanted.anywhere)
    return missing(on, wanted, `not on ${on.platform}`, "use a Linux machine, a virtual one too, for what needs it");
  if (known !== undefined) return working(on, wanted, known);
  const apt = on.find("apt-get");
  return apt === undefined || !on.root ? missing(on, wanted, "not installed", byHand(wanted)) : install(on, wanted, apt);
}

function byHand({ name, others }) {
  return `sudo apt-get install ${name}   (Debian, Ubuntu; on others: ${others})`;
}

/** A warning; where everything is to be tested, a failure. */
function missing(on, { name, needs }, problem, remedy) {
  const found = `${name} ${problem}; ${needs}`;
  return on.strict ? { found, next: remedy } : { found, warning: remedy };
}

function install(on, wanted, apt) {
  const { name } = wanted;
  on.say(`         installing the package ${name} with apt-get`);
  const get = () => on.run(apt, ["install", "--yes", "--no-install-recommends", name]);
  let tried = get();
  // A fresh image has no lists of packages yet.
  if (tried.status !== 0 && on.run(apt, ["update"]).status === 0) tried = get();
  const version = versionOf(on, wanted);
  if (version !== undefined) return working(on, wanted, `${version}, installed now`);
  const reason = `${tried.stderr ?? ""}`.trim().split("\n").at(-1) || `exit code ${tried.status}`;
  return missing(on, wanted, `could not be installed (${reason})`, byHand(wanted));
}

function working(on, wanted, version) {
  const { works, allow } = wanted;
  if (works === undefined) return { found: version };
  const { status, stderr } = on.run(programOf(on, wanted), works);
  const reason = `${stderr ?? ""}`.trim().split("\n").at(-1) || `exit code ${status}`;
  return status === 0 ? { found: version } : missing(on, wanted, `is there and may not isolate (${reason})`, allow);
}

function programOf(on, { programs }) {
  return programs.map((name) => on.find(name)).find((path) => path !== undefined);
}

function versionOf(on, wanted) {
  const program = programOf(on, wanted);
  if (program === undefined) return undefined;
  const { status, stdout } = on.run(program, ["--version"]);
  return status === 0 ? stdout.trim() : undefined;
}
