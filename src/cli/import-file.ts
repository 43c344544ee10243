/** Imports a program of the user. TypeScript works on every supported Node: where Node strips types itself, else through `tsx`. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { exits, Fault } from "./fault.ts";
import { packageOf } from "./foreign.ts";

export async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (!existsSync(file)) throw new Fault(exits.notFound, `There is no file ${file}.`);
  const typed = /\.[cm]?tsx?$/.test(file);
  if (typed && !nodeTakesTypes()) await registerTsx(file);
  try {
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw explained(error, file, typed);
  }
}

/** 22.18 and newer, or with its option. */
function nodeTakesTypes(): boolean {
  const { typescript } = process.features as { readonly typescript?: false | "strip" | "transform" };
  return Boolean(typescript);
}

/** How TypeScript would be read for a file there; undefined where nothing can. */
export function typescriptBy(file: string): "Node" | "tsx" | undefined {
  if (nodeTakesTypes()) return "Node";
  return registered || (tsxFrom(file) ?? tsxFrom(import.meta.filename)) !== undefined ? "tsx" : undefined;
}

let registered = process.execArgv.some((argument) => argument.includes("tsx"));

/** For the whole process, so that the program and this command share one copy of the package. */
async function registerTsx(file: string): Promise<void> {
  if (file.endsWith(".ts") && !isModule(file))
    throw new Fault(
      exits.invalid,
      `${file} is no ES module for Node ${process.versions.node}: the nearest package.json does not say "type": "module".`,
      {
        next: `npm pkg set type=module, or rename it to .mts`,
      },
    );
  if (registered) return;
  const api = tsxFrom(file) ?? tsxFrom(import.meta.filename);
  if (api === undefined)
    throw new Fault(exits.error, `Node ${process.versions.node} does not read TypeScript by itself, and the project has no tsx to do it.`, {
      next: "npm install --save-dev tsx, or use Node 22.18 or newer",
    });
  const { register } = (await import(pathToFileURL(api).href)) as { register(): void };
  register();
  registered = true;
}

function isModule(file: string): boolean {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest)) return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly type?: string }).type === "module";
    if (dirname(folder) === folder) return false;
  }
}

/** Found as an import would find it: resolving as `require` does gives its other half, which cannot register for imports. */
function tsxFrom(file: string): string | undefined {
  const folder = packageOf(file, "tsx");
  if (folder === undefined) return undefined;
  try {
    const { exports: doors } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as TsxManifest;
    return join(folder, doors["./esm/api"].import.default);
  } catch {
    return undefined;
  }
}

interface TsxManifest {
  readonly exports: { readonly "./esm/api": { readonly import: { readonly default: string } } };
}

/** What Node says of a file that it cannot read names neither the file nor what to do. What the program itself throws stays as it is. */
function explained(error: unknown, file: string, typed: boolean): unknown {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  const missing = code === "ERR_MODULE_NOT_FOUND";
  // Node takes only types that can be erased, and imports with their extension; tsx takes the rest.
  if (typed && nodeTakesTypes() && !registered && (missing || code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"))
    return new Fault(exits.invalid, `${file} cannot be imported by Node itself: ${message}`, {
      next: 'npm install --save-dev tsx, then NODE_OPTIONS="--import tsx" openrath …',
      cause: error,
    });
  if (missing)
    return new Fault(exits.invalid, `${file} cannot be imported: ${message}.`, { next: "npm install, or mend the import", cause: error });
  // Node says no more of it, and what checks the program as TypeScript finds nothing wrong.
  if (error instanceof SyntaxError && code === undefined && /^Unexpected identifier/.test(message ?? "") && !nodeKnowsUsing())
    return new Fault(
      exits.invalid,
      `${file} cannot be imported, or something it imports: ${message}. Node ${process.versions.node} does not know "using" and "await using".`,
      {
        next: typed
          ? 'if the program has them: npm install --save-dev tsx, then NODE_OPTIONS="--import tsx" openrath …; or use Node 24 or newer'
          : `node --check ${file}; if the program has them, use Node 24 or newer`,
        cause: error,
      },
    );
  if (error instanceof SyntaxError)
    return new Fault(exits.invalid, `${file} cannot be imported, or something it imports: ${message}.`, {
      next: typed ? "npx tsc --noEmit" : `node --check ${file}`,
      cause: error,
    });
  return error;
}

function nodeKnowsUsing(): boolean {
  try {
    new Script("{ using nothing = null; }");
    return true;
  } catch {
    return false;
  }
}
