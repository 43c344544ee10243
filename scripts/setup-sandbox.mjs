// The sandbox "local" and a part of the tests need bubblewrap. It is installed where that takes no more than apt-get: on Debian and
// Ubuntu, as root. Elsewhere it is said how. Without it the other placements work, so it is no failure, except where everything has
// to be tested (CI) and where an installation was tried and failed.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const needs = 'the placement "local" and a part of the tests need it; other placements work without';
const byHand =
  "sudo apt-get install bubblewrap   (Debian, Ubuntu; on others: dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap)";

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
  if (on.platform !== "linux") return missing(on, `not on ${on.platform}`, "use a Linux machine, a virtual one too, for what needs it");
  const known = versionOf(on);
  if (known !== undefined) return { found: known };
  const apt = on.find("apt-get");
  return apt === undefined || !on.root ? missing(on, "not installed", byHand) : install(on, apt);
}

/** A warning; where everything is to be tested, a failure. */
function missing(on, problem, remedy) {
  const found = `bubblewrap ${problem}; ${needs}`;
  return on.strict ? { found, next: remedy } : { found, warning: remedy };
}

function install(on, apt) {
  on.say("         installing the package bubblewrap with apt-get");
  const get = () => on.run(apt, ["install", "--yes", "--no-install-recommends", "bubblewrap"]);
  let tried = get();
  // A fresh image has no lists of packages yet.
  if (tried.status !== 0 && on.run(apt, ["update"]).status === 0) tried = get();
  const version = versionOf(on);
  if (version !== undefined) return { found: `${version}, installed now` };
  const reason = `${tried.stderr ?? ""}`.trim().split("\n").at(-1) || `exit code ${tried.status}`;
  return { found: `bubblewrap could not be installed (${reason}); ${needs}`, next: byHand };
}

function versionOf(on) {
  const program = on.find("bwrap");
  if (program === undefined) return undefined;
  const { status, stdout } = on.run(program, ["--version"]);
  return status === 0 ? stdout.trim() : undefined;
}
