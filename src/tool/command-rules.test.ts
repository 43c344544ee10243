// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shells write their variables like that
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Guard, type Policy, Rules } from "./policy.ts";

const judged = { tool: "shell", input: {}, by: "coder", principal: undefined };
const guard = (policy: Policy | readonly Policy[]): Guard => new Rules(policy).guard(judged) as Guard;
const allowing = (...allow: string[]): Guard => guard({ commands: { allow } });
const denying = (...deny: string[]): Guard => guard({ commands: { deny } });

describe("allowed commands", () => {
  const { refusesCommand } = allowing("npm test", "git *", "echo *", "ls", "cat *", "FOO=1 npm test");

  test.each([
    "npm test",
    "  npm   test  ",
    "npm\ttest",
    "npm 'test'",
    'n"p"m te\\st',
    "npm test # and a remark; rm -rf /",
    "npm test && git status; ls | cat -n",
    "npm test || echo failed",
    "npm \\\n test\ngit diff\n\n# rm\n",
    "ls &",
    "! ls",
    "( ls; git log )",
    "{ ls; echo done; } > out.txt 2>&1",
    "if ls; then echo yes; elif git status; then ls; else echo no; fi",
    'for f in a.txt b.txt; do cat "$f"; done',
    "while git diff; do ls; done",
    "until ls; do echo wait; done < in.txt",
    "echo 'rm -rf /; $(rm) `rm`'",
    'echo "; rm && rm | rm"',
    "echo \\; rm \\&\\& rm",
    "echo $HOME ${USER} $? *.ts ~/x a{b,c}d [ab]",
    'git commit -m "a; b && $(c)"'.replace("$(c)", "\\$(c)"),
    "ls > out.txt 2>/dev/null < in.txt",
    "ls 2>&1 >&2 2>&-",
    "cat - <<< 'rm -rf /'",
    "FOO=1 npm test",
    "echo x A=1",
    "git log --format='%h %s' -- 'a b'",
    "echo 日本 ü 😀",
    "",
    "# nothing",
  ])("%j may run", (command) => {
    expect(refusesCommand(command)).toBe(undefined);
  });

  test.each([
    "rm -rf /",
    "npm test;rm -rf /",
    "npm test; rm",
    "npm test&rm",
    "npm test|rm",
    "npm test && rm",
    "npm test || rm",
    "npm test\nrm",
    "npm test\r\nrm",
    "npm test\n\n\t rm",
    "npm  test2",
    "npm testx",
    "npm",
    "ls -la",
    "ls\u00a0",
    "ls\u3000;ls",
    "l\u200bs",
    "ls \u202etxt",
    "echo\vx",
    "echo x\frm",
    "(rm)",
    "{ rm; }",
    "! rm",
    "if rm; then ls; fi",
    "for f in a; do rm $f; done",
    "while ls; do rm; done",
    "ls | (cat x; rm)",
    "/tmp/evil/npm test",
    "./ls",
    "PATH=/tmp/evil npm test",
    "FOO=2 npm test",
    "FOO=1 BAR=1 npm test",
    "PATH=/tmp/evil; npm test",
    "X=1",
    ">out.txt rm",
    "2>x rm",
    "echo x\\\\;rm",
    "echo 'a'\\''b';rm;'",
    'echo "a\\"; rm',
    'echo "a" "b"; rm',
    "echo #x\nrm",
    "echo x#;rm",
    "ls;;rm",
    "'!' ls",
    "\\{ ls",
    "2>&1 ! ls",
    "<<< x if ls",
    ">&2 for x in ls; do ls; done",
  ])("%j may not", (command) => {
    expect(refusesCommand(command)).toMatch(/^the policy (does not allow the command|cannot read the command)/);
  });

  test("are named in the reason, and what is not readable is said", () => {
    expect(refusesCommand("ls; rm  -rf '/'")).toBe('the policy does not allow the command "rm -rf /"');
    expect(refusesCommand(`echo $(rm)`)).toBe(
      "the policy cannot read the command, because it runs a command inside $( ): give a simpler one",
    );
    expect(refusesCommand(`rm ${"x".repeat(500)}`)?.length).toBeLessThan(200);
    expect(refusesCommand("sudo ls")).toBe(
      'the policy cannot see what is run, because "sudo" runs another command: give the command itself',
    );
  });
});

describe("what cannot be read is refused, whatever is allowed", () => {
  const { refusesCommand } = allowing("*");
  test.each([
    "echo $(rm)",
    'echo "$(rm)"',
    'echo "a $(rm) b"',
    "echo `rm`",
    'echo "`rm`"',
    "echo ${x:-$(rm)}",
    'echo "${x:-`rm`}"',
    "echo ${!x}",
    "echo ${x@P}",
    "echo $((1+1))",
    "echo $[1+1]",
    "((x=1))",
    "echo $'rm'",
    "$'\\x72m' x",
    'echo $"rm"',
    "cat <<EOF\nrm\nEOF",
    "cat <<-'EOF'\nx\nEOF",
    "cat <(rm)",
    "tee >(rm)",
    "ls &> out",
    "ls &>> out",
    "f() { rm; }; f",
    "f () (rm)",
    "function f { rm; }",
    "a=(x y)",
    "case x in x) rm;; esac",
    "select x in a; do rm; done",
    "coproc rm",
    "for ((;;)); do rm; done",
    "for x in a & rm",
    "echo 'x",
    'echo "x',
    "echo x\\",
    "echo (x)",
    "(ls",
    "ls)",
    "ls >",
    "ls > ;",
    "{x}>f rm",
    "echo a\\\nb",
    'echo "$\\\n(rm)"',
    "echo a\0b",
    `echo ${"x".repeat(200_000)}`,
  ])("%j", (command) => {
    expect(refusesCommand(command)).toMatch(/^the policy cannot read the command, because /);
  });
});

describe("what hides another command is refused, whatever is allowed", () => {
  const { refusesCommand } = allowing("*");
  test.each([
    "eval rm",
    "e'v'al rm",
    "\\eval rm",
    "source x",
    ". x",
    "exec rm",
    "command rm",
    "builtin eval rm",
    "env rm",
    "/usr/bin/env X=1 rm",
    "sudo rm",
    "ls | xargs rm",
    "alias ls=rm",
    "trap rm EXIT",
    "nohup rm",
    "time rm",
    "timeout 5 rm",
    "sh -c rm",
    "bash -c 'rm'",
    "bash -ec rm",
    "bash -e -c rm",
    "bash --norc -c rm",
    "/bin/bash -c rm",
    "echo rm | sh",
    "sh < x",
    "sh -s",
    "bash -",
    "bash $X",
    "bash -e$X",
    "zsh x.sh",
    "'git x/evil'",
    "git\\ x/evil",
    "'FOO=1' npm test",
    "$X",
    '"$X" y',
    "$X rm",
    "${X}m",
    "r* x",
    "{rm,x}",
    "[r]m x",
    "~/rm",
    "[[ -n $x ]]",
    "find . -exec rm {} +",
    "find . -ok rm",
    "find . -'exec'dir rm",
    'find . "$X"',
    "find . $X",
    "find . -exe*",
    "test -v 'a[$(rm)]'",
    "[ -v 'a[`rm`]' ]",
    "printf -v 'a[$(rm)]' x",
    "X='a[$(rm)]' ls",
  ])("%j", (command) => {
    expect(refusesCommand(command)).toMatch(/^the policy cannot see what is run, because /);
  });

  test.each([
    "bash build.sh",
    "sh -eu ./x.sh a b",
    "command -v git",
    "env",
    "find . -name '*.ts' -type f",
    "test -f x",
    "[ -n x ]",
    "printf '%s' 'a[0]'",
  ])("%j hides nothing", (command) => {
    expect(refusesCommand(command)).toBe(undefined);
  });
});

describe("denied commands", () => {
  const { refusesCommand } = denying("rm *", "rm", "git push*", "npm publish");

  test.each([
    "rm x",
    "rm",
    "r'm' x",
    "\\rm x",
    "/bin/rm x",
    "ls; ../../bin/rm x",
    "X=1 rm x",
    "git push",
    "git 'push' -f",
    "git $X",
    "git p$X",
    "git pus?",
    "git [p]ush",
    "git {push,-f}",
    "git ${X}",
    "X=push; git $X",
    "npm publish $NOTHING",
    "npm $NOTHING publish",
    'npm "$X"',
    "npm publis*",
  ])("%j may not run", (command) => {
    expect(refusesCommand(command)).toMatch(/^the policy denies the command /);
  });

  test.each([
    "ls -la",
    "git status",
    'git commit -m "$X"',
    "git pull $X",
    "npm test",
    "rmdir x",
    "echo rm x",
    "npm publish --dry-run",
    "X=1 Y=$Z ls",
  ])("%j may", (command) => {
    expect(refusesCommand(command)).toBe(undefined);
  });

  test("win over allowed ones, and all rules that apply count", () => {
    const both = guard({ commands: { allow: ["git *"], deny: ["git push*"] } });
    expect(both.refusesCommand("git push")).toMatch(/denies/);
    expect(both.refusesCommand("git status")).toBe(undefined);
    const two = guard([
      { commands: { allow: ["git *", "ls"] } },
      { commands: { allow: ["git status"] } },
      { commands: { deny: ["ls"] }, agents: ["other"] },
    ]);
    expect(["git status", "git log", "ls"].map((command) => two.refusesCommand(command) === undefined)).toEqual([true, false, false]);
  });

  test("an empty list allows nothing", () => {
    expect(allowing().refusesCommand("ls")).toMatch(/does not allow/);
  });
});

describe("a list is one command", () => {
  const { refusesCommand } = allowing("git *", "echo *");
  test.each<readonly [readonly string[], boolean]>([
    [["git", "status"], true],
    [["echo", "; rm", "$(rm)", "`rm`", "a\nb", "\u00a0"], true],
    [["rm", "x"], false],
    [["git status"], false],
    [["echo", "a\0b"], false],
    [["sudo", "git", "status"], false],
    [["bash", "-c", "git status; echo x"], true],
    [["/bin/sh", "-eu", "-c", "echo x"], true],
    [["bash", "-lc", "echo x", "name", "$(rm)"], true],
    [["bash", "-c", "git status; rm"], false],
    [["bash", "-c", "echo $(rm)"], false],
    [["bash", "-c"], false],
    [["bash", "-c", "-x", "rm"], false],
    [["bash", "--rcfile", "x", "-c", "echo x"], false],
    [["bash", "-s"], false],
    [["bash"], false],
    [["./bash", "-c", "echo x"], false],
    [[], false],
  ])("%j", (command, allowed) => {
    expect(refusesCommand(command) === undefined).toBe(allowed);
  });

  test("and a shell that is given more than a command line hides one", () => {
    expect(allowing("*").refusesCommand(["bash", "-c", "-x", "rm"])).toMatch(/"bash" runs commands of its own/);
    expect(allowing("*").refusesCommand(["bash", "-c", "+x", "rm"])).toMatch(/"bash" runs commands of its own/);
  });
});

describe("paths", () => {
  const rules = guard({ paths: ["src", "./docs/", "/workspace/README.md"] });

  test("are what files may be under, by their letters after links were followed", () => {
    for (const path of ["src", "src/a/b.ts", "/workspace/src/x", "docs/x", "README.md", "src/../docs/y", "./src//x"])
      expect([path, rules.refusesPath(path)]).toEqual([path, undefined]);
    for (const path of ["srcs/x", "lib/x", ".", "/", "/etc/passwd", "src/../lib", "../src/x", "README.md.bak", "DOCS/x", "/src/x"])
      expect([path, rules.refusesPath(path)]).toEqual([path, expect.stringMatching(/^the policy limits files to src, \.\/docs\/, /)]);
  });

  test("hold for the files that commands are connected with", () => {
    for (const command of [
      "echo x > src/a",
      "cat < docs/x >> README.md 2>/dev/null",
      "ls 2>&1",
      "cd src && ls",
      "cd x; echo y > /workspace/src/z",
      "rm -rf /",
      "sudo x",
    ])
      expect([command, rules.refusesCommand(command)]).toEqual([command, undefined]);
    for (const command of [
      "echo x > lib/a",
      "cat < ../secret",
      "ls >> src/../x",
      "ls >/etc/x",
      "ls >| x",
      "ls <> x",
      "ls >& x",
      "{ ls; } > x",
      "ls > $X",
      "ls > src/$X",
      "ls > ~/src",
      "cd src && ls > src/x",
      "if ls; then ls; fi 2> x",
      "echo $(ls > x)",
    ])
      expect([command, rules.refusesCommand(command)]).toEqual([
        command,
        expect.stringMatching(/^the policy (limits files to|cannot read)/),
      ]);
    expect(rules.refusesCommand(["sh", "-c", "ls > x"])).toMatch(/limits files/);
    expect(rules.refusesCommand(["tee", "> x"])).toBe(undefined);
  });

  test("count from where the command runs", () => {
    expect(rules.refusesCommand("ls > x", "src/inner")).toBe(undefined);
    expect(rules.refusesCommand("ls > ../../x", "src/inner")).toMatch(/limits files/);
    expect(rules.refusesCommand("ls > src/x", "lib")).toMatch(/limits files/);
  });

  test("of all rules that apply count, and an empty list is no file", () => {
    const both = guard([{ paths: ["src", "docs"] }, { paths: ["src/a"] }]);
    expect([both.refusesPath("src/a/x"), both.refusesPath("src/b")]).toEqual([undefined, expect.stringMatching(/limits files to src\/a:/)]);
    expect(guard({ paths: [] }).refusesPath("x")).toMatch(/limits files to none/);
    expect(guard({ paths: ["."] }).refusesPath("x")).toBe(undefined);
  });
});

test("there is no guard where no rule is about commands or paths", () => {
  expect(new Rules({ allow: ["*"] }).guard(judged)).toBe(undefined);
  expect(new Rules({ paths: ["src"], agents: ["other"] }).guard(judged)).toBe(undefined);
  expect(new Rules(undefined).guard(judged)).toBe(undefined);
});

describe("long command lines", () => {
  const { refusesCommand } = guard({ commands: { allow: ["echo *", "*a*b*c*d", "X=*"], deny: ["*rm*-rf*/*", "*z"] } });
  test.each([
    "echo ",
    "'",
    '"',
    "\\",
    "$x",
    "echo x;",
    "=",
    "-=",
    "a=",
    "(",
    ")",
    "{",
    "[",
    "test [",
    "{a,b}",
    "~",
    "> x ",
    "\\\n",
    "\n",
    "for x in ",
    "# x\n",
    "* ",
    "1",
    "$",
    "${x}",
    "echo '[' ",
  ])("of %j are judged in a moment", (piece) => {
    const began = process.cpuUsage();
    refusesCommand(piece.repeat(131_072 / piece.length));
    refusesCommand(`test ${piece.repeat(130_000 / piece.length)}`);
    refusesCommand(["echo", piece.repeat(100_000)]);
    // Of the processor: a busy machine takes longer.
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(1500);
  });
});

/** Each text by itself: what one does to the shell that reads it is not seen by the next. */
const readEach = 'for text; do ( eval "$text" ) < /dev/null; echo "=== next" >&2; done';

/** Every command but `echo` says that it ran: PATH leads nowhere, so nothing else does. */
const shells = [
  ["/bin/bash", "--norc", "-c", `command_not_found_handle() { echo "not found" >&2; }; ${readEach}`, "bash"],
  ["/bin/dash", "-c", readEach, "dash"],
].filter(([path = ""]) => existsSync(path));

test.skipIf(shells.length === 0)("what may run is read as real shells read it", { timeout: 120_000 }, async () => {
  const { refusesCommand } = allowing("echo", "echo *");
  const pieces =
    "echo|echo | |bad|;|&&|||\n|'|\"|\\|$|(|)|{|}|`|#|<|>|x|=|!|if |then |fi|for |in |do |done|$x|${x}|~|*|[|]|,|..|&|1|2|-|\\\n|$'|<<|case |function |eval |>&|&>|<<<|@|?|+|x=|{a,b}"
      .split("|")
      .filter((piece) => piece !== "")
      .concat("|", "||", "|&", "<<< ", "2>&1 ");
  const begin = fc.constantFrom("echo ", "echo ", "\n", "<<< ", "! ", "");
  const line = fc
    .tuple(begin, fc.array(fc.constantFrom(...pieces), { minLength: 2, maxLength: 10 }))
    .map(([first, rest]) => [first, ...rest])
    .map((parts) => parts.join(""));
  const allowed = fc.sample(line, { numRuns: 2000, seed: 7 }).filter((text) => refusesCommand(text) === undefined);
  expect(allowed.length).toBeGreaterThan(20);
  const cwd = await mkdtemp(join(tmpdir(), "openrath-shell-"));
  try {
    for (const [path = "", ...args] of shells) {
      const read = (texts: readonly string[]): readonly string[] => {
        const env = { PATH: "/nonexistent", HOME: cwd, x: "bad" };
        const { stderr } = spawnSync(path, [...args, ...texts], { cwd, env, timeout: 60_000, encoding: "utf8" });
        const said = stderr.split("=== next\n");
        expect(said, `${path} came to its end`).toHaveLength(texts.length + 1);
        return texts.filter((_, index) => said[index]?.includes("not found"));
      };
      expect([path, ...read(["echo bad", "bad", "echo"])]).toEqual([path, "bad"]);
      expect([path, ...read(allowed)]).toEqual([path]);
    }
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
});
