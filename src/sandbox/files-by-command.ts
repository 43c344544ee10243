/**
 * Files through commands, for sandboxes whose files only a command should touch: a link that a hostile program planted then leads
 * nowhere but inside. Names are arguments, never part of a script, and may be any bytes.
 */
import { posix } from "node:path";
import { RathError } from "../session/errors.ts";
import type { Sandbox, SandboxEntry } from "../session/session.ts";
import { bytesOf, nameOf } from "../workspace/name.ts";
import type { Ran } from "./run-command.ts";

/** Runs a program of the sandbox and gives all it wrote. */
export type RunProgram = (argv: readonly string[], options: { readonly stdin?: Uint8Array | undefined }) => Promise<Ran>;

/** Where the workspace is in the sandbox, and how programs are run there. */
export function filesByCommand(root: string, run: RunProgram): Pick<Sandbox, "read" | "write" | "list" | "remove"> {
  const script = async (what: string, path: string, body: string, args: readonly string[], stdin?: Uint8Array) => {
    const ran = await run(["/bin/sh", "-c", `${ownPath}${decode}${body}`, "sh", ...args.map(encode)], { stdin });
    if (ran.exitCode !== 0 || ran.stopped !== undefined) throw failed(what, path, ran);
    return ran.stdout;
  };
  return {
    read: async (path) => script("read", path, `${onlyFile}exec cat -- "$path"`, [inside(root, path)]),
    async write(path, content) {
      const at = below(root, path);
      const bytes = typeof content === "string" ? Buffer.from(content) : content;
      const body = `${decodeSecond}${onlyFile}mkdir -p -- "$above" && exec cat > "$path"`;
      await script("write", path, body, [at, posix.dirname(at)], bytes);
    },
    async *list(path = "") {
      const at = inside(root, path);
      const body = `cd -- "$path" && exec find . -mindepth 1 -maxdepth 1 -printf '%y/%m/%f\\0%l\\0'`;
      yield* entries(posix.relative(root, at), await script("list", path, body, [at]));
    },
    async remove(path) {
      await script("remove", path, 'exec rm -rf -- "$path"', [below(root, path)]);
    },
  };
}

/** The absolute path of a place in the workspace. Rejects with `sandbox.outside` where it leads out of it. */
export function inside(root: string, path: string): string {
  if (path.includes("\0")) throw new RathError("value.unsupported", "A path cannot hold a zero byte.", { details: { path } });
  const at = posix.resolve(root, path);
  if (at !== root && !at.startsWith(root === "/" ? "/" : `${root}/`))
    throw new RathError("sandbox.outside", `${JSON.stringify(path)} is outside the workspace, ${root}: only files in it are reached.`, {
      details: { path, workspace: root },
    });
  return at;
}

function below(root: string, path: string): string {
  const at = inside(root, path);
  if (at !== root) return at;
  throw new RathError("sandbox.outside", `${JSON.stringify(path)} is the workspace itself: name something in it.`, { details: { path } });
}

/** Whatever PATH the sandbox has: a program of the workspace must not stand in for one of these. */
const ownPath = "PATH=/usr/bin:/bin; ";

/**
 * Arguments of programs are text, names are bytes: what is not plain ASCII is written in octal and read back by the shell. The x keeps
 * newlines at the end, which `$()` drops.
 */
const decode = `path=$(printf '%bx' "$1"); path=\${path%x}; `;
const decodeSecond = `above=$(printf '%bx' "$2"); above=\${above%x}; `;

/** A fifo that was planted under the name of a file would be waited for, and a link to a device read without end. */
const onlyFile = `if [ -e "$path" ] && ! [ -f "$path" ] && ! [ -d "$path" ]; then echo "It is no file" >&2; exit 1; fi; `;

function encode(path: string): string {
  let text = "";
  for (const byte of bytesOf(path)) {
    const plain = byte > 0x20 && byte < 0x7f && byte !== 0x5c;
    text += plain ? String.fromCharCode(byte) : `\\0${byte.toString(8).padStart(3, "0")}`;
  }
  return text;
}

const kinds: Readonly<Record<string, SandboxEntry["kind"]>> = { f: "file", d: "directory", l: "link" };

/** Sockets, fifos and devices are left out: there is nothing to read in them. */
function* entries(directory: string, listing: Uint8Array): Iterable<SandboxEntry> {
  const fields = split(listing);
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const line = nameOf(fields[at] as Uint8Array);
    const [type = "", mode = ""] = line.split("/", 2);
    const name = line.slice(type.length + mode.length + 2);
    const kind = kinds[type];
    if (kind === undefined) continue;
    const path = directory === "" ? name : `${directory}/${name}`;
    if (kind === "link") yield { path, kind, target: nameOf(fields[at + 1] as Uint8Array) };
    else yield { path, kind, mode: Number.parseInt(mode, 8) & 0o777 };
  }
}

function split(bytes: Uint8Array): readonly Uint8Array[] {
  const fields: Uint8Array[] = [];
  let begin = 0;
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, begin)) {
    fields.push(bytes.subarray(begin, end));
    begin = end + 1;
  }
  return fields;
}

function failed(what: string, path: string, ran: Ran): RathError {
  const said = Buffer.from(ran.stderr).toString("utf8").trim().split("\n").at(-1) ?? "";
  const why = ran.stopped === undefined ? said || `exit code ${ran.exitCode}` : `the limit of ${ran.stopped} was reached`;
  return new RathError("sandbox.failed", `Could not ${what} ${JSON.stringify(path)} in the sandbox: ${why}.`, {
    details: { path, exitCode: ran.exitCode, missing: said.endsWith("No such file or directory") },
  });
}
