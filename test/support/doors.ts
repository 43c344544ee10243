/** The doors of the package as the compiler sees them: what each exports, resolved to where it is declared. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root = fileURLToPath(new URL("../../", import.meta.url));

const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
export const compilerOptions: ts.CompilerOptions = {
  ...ts.parseJsonConfigFileContent(config.config, ts.sys, root, undefined, "tsconfig.json").options,
  // Examples are programs of users: neither their imports nor their variables are all used.
  noUnusedLocals: false,
  // Declarations are made of what a program of users needs of them.
  noEmit: false,
  emitDeclarationOnly: true,
};

export interface Exported {
  readonly name: string;
  readonly symbol: ts.Symbol;
  /** The file whose door it is on. */
  readonly file: string;
}

/** Door → source file. */
export const doors: ReadonlyMap<string, string> = new Map(
  Object.entries((JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: Record<string, string> }).exports)
    .filter(([door]) => door !== "./package.json")
    .map(([door, file]) => [`openrath${door.slice(1)}`, join(root, file.replace("./dist/", "src/").replace(/\.js$/, ".ts"))]),
);

export function openDoors(): { readonly program: ts.Program; readonly exported: readonly Exported[] } {
  const program = ts.createProgram([...doors.values()], compilerOptions);
  const checker = program.getTypeChecker();
  const exported = [...doors.values()].flatMap((file) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile);
    return (module === undefined ? [] : checker.getExportsOfModule(module)).map((symbol) => ({
      name: symbol.name,
      symbol: symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
      file,
    }));
  });
  return { program, exported };
}
