/**
 * What of a user's directory is not recorded. Two lists are built in: *layers* are directories that a tool can make again and that
 * are large, so commands see them, read-only, without their being part of the tree; *private* files usually hold secrets, so they
 * are neither recorded nor visible. `.openrathignore` in the root adds to this in the syntax of `.gitignore`: what it lists is
 * neither recorded nor visible, and `!pattern` brings back what is built in. `.gitignore` itself plays no part, and `.git` is
 * recorded like any other directory, since agents use it; it never leaves the tree by itself (git-folder.ts).
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import makeIgnore from "ignore";
import { RathError } from "../session/errors.ts";
import { readProblem } from "./content.ts";
import { isCode, Place } from "./place.ts";

/** `layer`: not recorded, and shared read-only. `hide`: neither recorded nor visible. */
export type Verdict = "keep" | "layer" | "hide";

export class Ignore {
  readonly #rules: ReturnType<typeof makeIgnore> | undefined;

  readonly #hidden: ReadonlySet<string>;

  /** With the text of a `.openrathignore`, and paths that stay hidden whatever it says. */
  constructor(text = "", hidden: Iterable<string> = []) {
    this.#hidden = new Set(hidden);
    this.#rules = /^\s*[^#\s]/m.test(text) ? makeIgnore({ allowRelativePaths: true }).add(text) : undefined;
  }

  /** With the `.openrathignore` of a directory, if it has one. One that is a link is refused: it could say anything tomorrow. */
  static read(directory: string, hidden?: Iterable<string>): Ignore {
    const place = Place.open(directory);
    try {
      return new Ignore(readRules(place), hidden);
    } finally {
      place.close();
    }
  }

  /** What becomes of a path, given that the directories above it are kept. */
  verdict(path: string, isDirectory: boolean): Verdict {
    if (this.#hidden.has(path)) return "hide";
    if (this.#rules !== undefined) {
      const { ignored, unignored } = this.#rules.test(isDirectory ? `${path}/` : path);
      if (ignored) return "hide";
      if (unignored) return "keep";
    }
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (isDirectory && (layerNames.has(name) || isBelow(path, layerPaths))) return "layer";
    return isPrivate(name.toLowerCase()) || isBelow(path, privatePaths) ? "hide" : "keep";
  }
}

const layerNames = new Set(["node_modules", "bower_components", ".pnpm-store", ".venv", "venv", ".tox", ".nox", ".gradle", "Pods"]);
const layerPaths = ["vendor/bundle"];

const privateNames = new Set([
  ".env",
  ".envrc",
  ".npmrc",
  ".pypirc",
  ".netrc",
  "_netrc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".htpasswd",
  ".vault-token",
  ".dockercfg",
  ".aws",
  ".ssh",
  ".gnupg",
  ".kube",
  ".openrath",
]);
const privatePaths = [".docker/config.json", ".config/gcloud", ".config/gh"];
const harmlessEnvironment = /^\.env\.(?:.+\.)?(?:example|sample|template|dist|defaults|schema)$/;
const privateEndings = /\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)$/;
/** Not `id_rsa_parser.ts`. */
const privateKeys = /^id_(?:rsa|dsa|ecdsa|ed25519)(?:[-_.][^.]*)?$/;

function isPrivate(name: string): boolean {
  if (privateNames.has(name)) return true;
  if (name.startsWith(".env.")) return !harmlessEnvironment.test(name);
  return privateEndings.test(name) || privateKeys.test(name);
}

function isBelow(path: string, endings: readonly string[]): boolean {
  return endings.some((ending) => path.endsWith(ending) && (path.length === ending.length || path.at(-ending.length - 1) === "/"));
}

const rulesFile = ".openrathignore";
const largest = 2 ** 20;

function readRules(place: Place): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(place.at(rulesFile), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isFile() || stat.size > largest) throw noRules("must be a file of at most 1 MB");
    return readFileSync(descriptor, "utf8");
  } catch (error) {
    if (isCode(error, "ENOENT")) return "";
    if (isCode(error, "ELOOP", "EMLINK", "ENXIO")) throw noRules("must be a file: links are not followed");
    throw readProblem(error, rulesFile);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function noRules(problem: string): RathError {
  return new RathError("workspace.invalid", `${rulesFile} ${problem}.`, { details: { path: rulesFile } });
}
