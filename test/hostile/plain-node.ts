/**
 * The scripts of this folder, and all they import, as plain JavaScript in a directory that every user may read: what runs as another
 * user can neither compile them nor, often, see the repository.
 */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";

const repository = resolve(import.meta.dirname, "../..");

export function plainScripts(names: readonly string[]): { readonly folder: string; readonly scripts: string } {
  const folder = mkdtempSync(join(tmpdir(), "openrath-scripts-"));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const done = new Set<string>();
  const take = (file: string) => {
    if (done.has(file)) return;
    done.add(file);
    const place = join(folder, relative(repository, file));
    mkdirSync(dirname(place), { recursive: true });
    if (!file.endsWith(".ts")) return copyFileSync(file, place);
    const { outputText } = transpileModule(readFileSync(file, "utf8"), { compilerOptions });
    writeFileSync(place.replace(/\.ts$/, ".js"), outputText);
    for (const [, path] of outputText.matchAll(/(?:from|URL\(|import) ?"(\.[^"]+)"/g))
      take(resolve(dirname(file), (path as string).replace(/\.js$/, ".ts")));
  };
  for (const name of names) take(join(import.meta.dirname, name));
  return { folder, scripts: join(folder, "test/hostile") };
}

const compilerOptions = {
  module: ModuleKind.ESNext,
  target: ScriptTarget.ES2022,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};
