/**
 * A dossier: one folder that answers for a session. A page for people, the record itself for machines, and everything between that
 * somebody may want to open, count or apply. It appears under its name only when all of it is there.
 */
import { createHash, hash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { toSvg } from "../graph-svg.ts";
import { callLines } from "./calls-file.ts";
import { dossierFormat, type Environment, environmentOf } from "./manifest.ts";
import { pageOf } from "./page.ts";
import { type DossierOptions, type Proof, prove } from "./proof.ts";
import { type Dossier, readDossier } from "./read.ts";

export type { DossierOptions } from "./proof.ts";

/** What was written. */
export interface DossierReport {
  /** The folder. */
  readonly directory: string;
  /** The page in it. */
  readonly page: string;
  /** Every file in it with its size. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  /** Whether the record is what was written, and whether the program still does what is on record; undefined where nobody could say. */
  readonly verified: boolean;
  readonly replayed: boolean | undefined;
  /** Why it is not verified: how many problems were found, and who signed it that is not known here. */
  readonly problems: number;
  readonly unknownKeys: readonly string[];
  /** Secrets that were replaced only now: there should be none. */
  readonly redacted: number;
}

/**
 * Writes the dossier of a session into a folder: `index.html` for people, the session as a bundle, its patch, calls, branches and
 * picture, what was verified, and a manifest with the hash of every file. A dossier that is there is replaced; anything else is left
 * alone, with `value.unsupported`.
 *
 * @example
 * const { page, verified } = await dossier(session, "dossier");
 * console.log(verified ? page : "do not trust this record");
 */
export async function dossier(session: Session, directory: string, options: DossierOptions = {}): Promise<DossierReport> {
  const target = resolve(directory);
  await refuseForeign(target, dossierFormat);
  const folder = `${target}.${randomUUID()}.partial`;
  try {
    const { proof, files, environment } = await fillDossier(session, folder, options);
    await putInPlace(folder, target);
    return {
      ...{ directory: target, page: join(target, "index.html"), files, verified: proof.verification.ok },
      ...{ problems: proof.verification.problems.length, unknownKeys: proof.verification.unknownKeys },
      ...{ replayed: proof.replay.done ? proof.replay.identical : undefined, redacted: environment.redacted.again },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Writes the files of a dossier into a new folder, and gives what they were made of. */
export async function fillDossier(session: Session, folder: string, options: DossierOptions) {
  const read = await readDossier(session);
  const proof = await prove(session, options);
  await mkdir(folder, { recursive: true });
  const environment = await fill(folder, read, proof, options.onProgress);
  return { read, proof, environment, files: await sealed(folder, environment) };
}

/** Whether a dossier is there, nothing, or something else. */
export async function whatIsAt(directory: string, format: string = dossierFormat): Promise<"nothing" | "dossier" | "other"> {
  const found = await stat(directory).catch(ignoreMissing);
  if (found === undefined) return "nothing";
  if (!found.isDirectory()) return "other";
  const manifest = await readFile(join(directory, "manifest.json"), "utf8").catch(() => "");
  if (manifest.includes(`"format": "${format}"`)) return "dossier";
  return (await readdir(directory)).length === 0 ? "nothing" : "other";
}

/** Only what was written as this may be replaced by it. */
export async function refuseForeign(target: string, format: string): Promise<void> {
  if ((await whatIsAt(target, format)) !== "other") return;
  throw new RathError(
    "value.unsupported",
    `${target} is there and is no ${format === dossierFormat ? "dossier" : "folder of dossiers"}: nothing was written. Name a folder that is new or empty.`,
    {
      details: { field: "directory", directory: target },
    },
  );
}

async function fill(folder: string, read: Dossier, proof: Proof, onProgress: DossierOptions["onProgress"]): Promise<Environment> {
  const { session, clean, ways, edges, patch } = read;
  const { write } = await import("../export/write.ts");
  await write(session, join(folder, "session"), { format: "bundle", onProgress });
  await write(session, join(folder, "lineage.jsonl"), { format: "lineage-jsonl" });
  await write(session, join(folder, "report.md"), { format: "markdown" });
  const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), clean.text(text));
  await put("lineage.jsonl", await readFile(join(folder, "lineage.jsonl"), "utf8"));
  await put("graph.svg", toSvg(ways, edges));
  await put("patch.diff", patch);
  await put(
    "calls.jsonl",
    callLines(read)
      .map((line) => `${line}\n`)
      .join(""),
  );
  await put("report.md", await readFile(join(folder, "report.md"), "utf8"));
  await put(
    "verification.json",
    json({
      verify: proof.verification,
      replay: { ...proof.replay, command: `openrath replay ${session.id}` },
      commands: { verify: `openrath verify ${session.id}`, import: "openrath import session" },
    }),
  );
  // Last, so that it says how many secrets were found in all that lies beside it.
  const environment = await environmentOf(read);
  await put("index.html", pageOf(read, proof, environment, { alone: false }));
  return environmentOf(read);
}

/** Adds the manifest and the hashes of everything. */
async function sealed(folder: string, environment: Environment): Promise<DossierReport["files"]> {
  const files = await filesIn(folder);
  const manifest = json({ ...environment, files });
  await writeFile(join(folder, "manifest.json"), manifest);
  const own = { path: "manifest.json", bytes: Buffer.byteLength(manifest), sha256: hash("sha256", manifest) };
  const all = [...files, own];
  const sums = all.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join("");
  await writeFile(join(folder, "SHA256SUMS"), sums);
  return [...all.map(({ path, bytes }) => ({ path, bytes })), { path: "SHA256SUMS", bytes: Buffer.byteLength(sums) }];
}

async function filesIn(folder: string): Promise<{ readonly path: string; readonly bytes: number; readonly sha256: string }[]> {
  const found: { readonly path: string; readonly bytes: number; readonly sha256: string }[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const digest = createHash("sha256");
    let bytes = 0;
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      digest.update(chunk);
      bytes += chunk.length;
    }
    found.push({ path: relative(folder, file).split(sep).join("/"), bytes, sha256: digest.digest("hex") });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The old one goes only once the new one is whole; whoever looks in between finds one of them. */
export async function putInPlace(folder: string, target: string): Promise<void> {
  const old = join(dirname(target), `.${basename(target)}.${randomUUID()}.old`);
  const had = await rename(target, old).then(() => true, ignoreMissing);
  try {
    await rename(folder, target);
  } catch (error) {
    if (had === true) await rename(old, target);
    throw error;
  }
  if (had === true) await rm(old, { recursive: true, force: true });
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
