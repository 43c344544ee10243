// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shells write their variables like that
/** What is run depends on variables: whoever sets PATH or HOME says which `ls` and which `git` it is. A wall lets nobody. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandRules, readCommand, refusedByRules } from "./command-rules.ts";

function refused(rules: CommandRules, text: string): string | undefined {
  const read = readCommand(text);
  return "problem" in read ? read.problem : refusedByRules(rules, read.commands);
}
const bash = (text: string, cwd?: string) => spawnSync("/bin/bash", ["--norc", "-c", text], { cwd, encoding: "utf8" });
// Older ones do not know all of it.
const skipped = !/^5\.[12]\./.test(bash("echo $BASH_VERSION").stdout ?? "");
if (skipped) console.log("skipped: as bash understands (there is no bash 5.1 or 5.2)");

const allow = ["ls", "git status", "echo *", "cat *", "printf *", "wait *", "wait", "test *", "[ *", "true"];
const wall = (text: string): string | undefined => refused({ allow }, text);

describe("a loop sets variables that nothing heeds", () => {
  test.each(["f", "i", "i2", "file", "path"])("such as %s", (name) => {
    expect(wall(`for ${name} in a b; do cat "$${name}"; done`)).toBe(undefined);
    expect(wall(`for ${name}; do ls; done`)).toBe(undefined);
  });

  // Mutant: every name is taken, or every one in small letters.
  test.each(
    "HOME PATH IFS ENV BASH_ENV LD_PRELOAD GIT_DIR GIT_CONFIG_GLOBAL NODE_OPTIONS F Path http_proxy npm_config_prefix _ _x".split(" "),
  )("and not %s", (name) => {
    const why = `the policy does not allow the command "${name}=…": without a rule only loops set variables, with names like x, file or i2`;
    expect(wall(`for ${name} in /workspace/src; do git status; done`)).toBe(why);
    expect(wall(`for ${name}; do ls; done`)).toBe(why);
    expect(wall(`for ${name} do ls; done`)).toBe(why);
    expect(wall(`if true; then { for f in a; do for ${name} in b; do ls; done; done; } fi`)).toBe(why);
  });

  test("unless the rules speak of them, as of a variable before a command", () => {
    const loop = "for PATH in /opt/bin; do ls; done";
    expect(refused({ allow: ["ls", "PATH=*"] }, loop)).toBe(undefined);
    // Which value it has is never known here.
    expect(refused({ allow: ["ls", "PATH=/opt/bin"] }, loop)).toMatch(/does not allow the command "PATH=…"/);
    expect(refused({ deny: ["rm *"] }, loop)).toBe(undefined);
    expect(refused({ deny: ["PATH=/tmp/*"] }, loop)).toBe('the policy denies the command "PATH=…"');
  });
});

describe("nothing else that shells have for setting them passes by", () => {
  test.each([
    "PATH=/tmp/bin ls",
    "PATH=/tmp/bin; ls",
    "PATH+=:/tmp/bin; ls",
    "a[0]=x; ls",
    "PATH=(/tmp/bin); ls",
    "read PATH < x; ls",
    "cat x | while read -r PATH; do ls; done",
    "export PATH=/tmp/bin; ls",
    "declare PATH=/tmp/bin; ls",
    "readonly PATH=/tmp/bin; ls",
    "let PATH=1; ls",
    "getopts x PATH; ls",
    "mapfile PATH < x; ls",
    "echo ${PATH:=/tmp/bin}; ls",
    'echo "${PATH:=/tmp/bin}"; ls',
    "echo $((PATH=1)); ls",
    "echo $[PATH=1]; ls",
    "((PATH=1)); ls",
    "for ((PATH=1;;)); do ls; done",
    "select PATH in /tmp/bin; do ls; done",
    "ls() { PATH=/tmp/bin; }; ls",
    "cat <<X\n${PATH:=/tmp/bin}\nX\nls",
    "cat <<< ${PATH:=/tmp/bin}; ls",
    "coproc PATH { ls; }",
    "echo {PATH}>x; ls",
    "echo {PATH[0]}>x; ls",
    "echo {PATH[0]}<x; ls",
  ])("%j", (text) => {
    expect(wall(text)).not.toBe(undefined);
  });
});

/** Allowed by the letters of its words, each of them runs what is planted: an `ls` where PATH leads to, or a subscript. */
const evasions = [
  "for PATH in $PWD/bin; do ls; done",
  "printf -v PATH %s $PWD/bin; ls",
  "printf '-vPATH' %s $PWD/bin; ls",
  'for x in -vPATH; do printf "$x" %s $PWD/bin; ls; done',
  "for x in '-pa[$(./planted)]'; do true & wait -n $x; done",
  "echo {a['$(./planted)']}>/dev/null",
  "for x in 'a[$(./planted)]'; do test -v \"$x\"; done",
  'for x in -v; do for y in \'a[$(./planted)]\'; do [ "$x" "$y" ]; done; done',
  "for b in 'a[$(./planted)]'; do [ -v 'a[b]' ]; done",
  "for x in '-v a[$(./planted)] -o x'; do [ $x = y ]; done",
  "[ -v c* ]",
];

describe("nor does one that is named by an option, or gets the number of a descriptor", () => {
  let cwd = "";
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "openrath-variables-"));
    await mkdir(join(cwd, "bin"));
    await writeFile(join(cwd, "c[$(sh planted)]"), "");
    for (const file of ["planted", "bin/ls"]) await writeFile(join(cwd, file), "#!/bin/sh\necho it ran >&2\n", { mode: 0o755 });
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  // Mutants: unseenVariable finds nothing, or one of its commands less; {NAME} alone is refused before a redirection.
  test.each(evasions)("%j", (text) => {
    expect(wall(text)).not.toBe(undefined);
  });

  test.skipIf(skipped).each(evasions)("as bash understands %j", (text) => {
    expect(bash(text, cwd).stderr).toContain("it ran");
  });

  test("and what to do is said", () => {
    expect(wall("[ -f $f ]")).toBe(
      'the policy does not allow the command "[ -f … ]": "[" may be given the name of a variable: quote what is put in, and leave that option out',
    );
  });

  test.each([
    '[ -f "$f" ]',
    '[ "$x" = "$y" ]',
    '[ -n "$x" ]',
    "[ $? -eq 0 ]",
    "test ${#} -gt 0",
    "[ -v x ]",
    "printf '%s\\n' \"$x\" $y",
    'printf -- "$x"',
    "wait",
    "wait %1 12",
    "echo {a,b} > x",
  ])("%j does no such thing", (text) => {
    expect(wall(text)).toBe(undefined);
  });

  test("where anything may run, that may too", () => {
    for (const text of ["server & wait $!", 'printf -v out "$x"', "[ -f $f ]", "for F in a; do ls; done"]) {
      expect([text, refused({ allow: ["*"] }, text)]).toEqual([text, undefined]);
      expect([text, refused({ deny: ["rm *"] }, text)]).toEqual([text, undefined]);
    }
  });
});
