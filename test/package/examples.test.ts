/** What the doors export is documented, its examples compile, and every type that it names can be imported. */
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { compilerOptions, doors, openDoors, root } from "../support/doors.ts";

const { program, exported } = openDoors();
const checker = program.getTypeChecker();
const inSource = (symbol: ts.Symbol): boolean =>
  symbol.declarations?.some((node) => node.getSourceFile().fileName.startsWith(join(root, "src/"))) === true;

test("every symbol on a door is documented", () => {
  const silent = exported.filter(({ symbol }) => inSource(symbol) && symbol.getDocumentationComment(checker).length === 0);
  expect([...new Set(silent.map(({ name }) => name))]).toEqual([]);
});

/** What stands for the rest of a user's program in an example. */
const around: Readonly<Record<string, string>> = {
  rath: "declare const rath: import('../../src/index.ts').Rath;",
  elsewhere: "declare const elsewhere: import('../../src/index.ts').Rath;",
  session: "declare let session: import('../../src/index.ts').Session;",
  tries: "declare const tries: readonly import('../../src/index.ts').Session<string>[];",
  workflow: "declare const workflow: import('../../src/index.ts').Workflow;",
  migrate: "declare const migrate: import('../../src/index.ts').Workflow;",
  Fix: "declare class Fix extends (await import('../../src/index.ts')).Workflow { forward(session: import('../../src/index.ts').Session): Promise<import('../../src/index.ts').Session> }",
  model: "declare const model: import('../../src/agent/agent.ts').ModelLike;",
  token: "declare const token: string;",
  weather: "declare const weather: string;",
  events: "declare const events: readonly import('../../src/store/store.ts').StoredEvent[];",
  boot: "declare function boot(session: string, env: object): Promise<import('../../src/sandbox/sandbox.ts').OpenSandbox>;",
  record: "declare function record(): Promise<import('../../src/index.ts').Session>;",
  ...Object.fromEntries(
    ["copy", "attempt", "readLog", "pay", "tell"].map((name) => [name, `declare function ${name}(what?: unknown): Promise<string>;`]),
  ),
  ...Object.fromEntries(
    ["fix", "docs", "planner", "coder", "sketcher", "thinker"].map((name) => [
      name,
      `declare const ${name}: import('../../src/index.ts').Agent;`,
    ]),
  ),
  z: 'import { z } from "zod";',
  test: 'import { test } from "vitest";',
  expect: 'import { expect } from "vitest";',
  appendFile: 'import { appendFile } from "node:fs/promises";',
};

test("every example compiles", () => {
  const found = examples();
  expect(found.length).toBeGreaterThan(25);
  const alone = compiled(found.map(({ code }) => code));
  const whole = found.map(
    ({ code, file }, index) =>
      `${[...new Set((alone[index] ?? []).flatMap(missingName))].map((name) => declared(name, file)).join("\n")}\n${code}`,
  );
  const problems = compiled(whole).flatMap((diagnostics, index) =>
    diagnostics.map((diagnostic) => `${found[index]?.name}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, " ")}`),
  );
  expect(problems).toEqual([]);
});

test("the programs of test/integration compile with a user's strict settings", () => {
  const folder = join(root, "test/integration/programs");
  const { config } = ts.readConfigFile(join(folder, "tsconfig.json"), ts.sys.readFile);
  const settings = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  expect(settings.fileNames.length).toBeGreaterThan(12);
  // Against the declarations, as users do: the sources have settings of their own.
  const options: ts.CompilerOptions = {
    ...settings.options,
    paths: Object.fromEntries([...doors].map(([door, file]) => [door, [declarationOf(file)]])),
    typeRoots: [join(root, "node_modules/@types")],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => (isOurs(file) ? sourceOf(file) !== undefined : fileExists(file));
  host.getSourceFile = (file, how, ...rest) =>
    isOurs(file) ? ts.createSourceFile(file, declaration(file), how) : getSourceFile(file, how, ...rest);
  const users = ts.createProgram(settings.fileNames, options, host);
  const ours = users.getSourceFiles().filter(({ fileName }) => isOurs(fileName));
  expect(ours.length).toBeGreaterThan(50);
  expect(ours.filter(({ isDeclarationFile }) => !isDeclarationFile)).toEqual([]);
  const problems = ts.getPreEmitDiagnostics(users);
  expect(problems.map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`)).toEqual([]);
});

test("every type that a door's declarations name is on a door", () => {
  const there = new Set(exported.map(({ symbol }) => symbol));
  const internal = new Set(["EventOf", "Join", "Asked"]); // users write Event<"tool.called">, read the kind of a join from an edge, and write queries
  const missing = new Set<string>();
  for (const { name, symbol } of exported)
    for (const declaration of symbol.declarations ?? [])
      visitPublic(declaration, (reference) => {
        const found = checker.getSymbolAtLocation(reference);
        const type = found !== undefined && found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
        if (
          type === undefined ||
          type.flags & ts.SymbolFlags.TypeParameter ||
          there.has(type) ||
          internal.has(type.name) ||
          !inSource(type)
        )
          return;
        missing.add(`${type.name} (of ${name})`);
      });
  expect([...missing]).toEqual([]);
});

const isOurs = (file: string): boolean => file.startsWith(join(root, "src/"));
const declarationOf = (file: string): string => file.replace(/\.ts$/, ".d.ts");

/** What a declaration is of: as after a build, there is nothing else. */
function sourceOf(file: string): ts.SourceFile | undefined {
  return file.endsWith(".d.ts") ? program.getSourceFile(file.replace(/\.d\.ts$/, ".ts")) : undefined;
}

function declaration(file: string): string {
  let made = "";
  program.emit(sourceOf(file), (_, text) => (made = text), undefined, true);
  return made;
}

interface Example {
  readonly name: string;
  readonly code: string;
  /** The door it is on. */
  readonly file: string;
}

function examples(): readonly Example[] {
  const found = new Map<string, Example>();
  const collect = (name: string, symbol: ts.Symbol, file: string): void => {
    for (const tag of symbol.getJsDocTags(checker)) {
      const code = ts.displayPartsToString(tag.text);
      if (tag.name === "example" && !found.has(code)) found.set(code, { name, code, file });
    }
  };
  for (const { name, symbol, file } of exported) {
    if (!inSource(symbol)) continue;
    collect(name, symbol, file);
    for (const member of symbol.members?.values() ?? []) collect(`${name}.${member.name}`, member, file);
  }
  return [...found.values()];
}

/** Compiles each as a module of its own; gives what is wrong with each. */
function compiled(sources: readonly string[]): readonly (readonly ts.Diagnostic[])[] {
  const files = new Map(sources.map((source, index) => [join(root, `test/package/example-${index}.ts`), `${source}\nexport {};\n`]));
  const host = ts.createCompilerHost(compilerOptions);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (file) => files.has(file) || fileExists(file);
  host.readFile = (file) => files.get(file) ?? readFile(file);
  host.getSourceFile = (file, options, ...rest) => {
    const text = files.get(file);
    if (text !== undefined) return ts.createSourceFile(file, text, options, true);
    return program.getSourceFile(file) ?? getSourceFile(file, options, ...rest);
  };
  const all = ts.createProgram([...files.keys()], compilerOptions, host);
  return [...files.keys()].map((file) => {
    const source = all.getSourceFile(file) as ts.SourceFile;
    return [...all.getSyntacticDiagnostics(source), ...all.getSemanticDiagnostics(source)];
  });
}

/** The name that a diagnostic says is not there. */
function missingName({ messageText }: ts.Diagnostic): readonly string[] {
  const [, name] =
    /^(?:Cannot find name|No value exists in scope for the shorthand property) '(\w+)'/.exec(
      ts.flattenDiagnosticMessageText(messageText, "\n"),
    ) ?? [];
  return name === undefined ? [] : [name];
}

/** From the door of the example, where that has it too: two doors may use one name. */
function declared(name: string, file: string | undefined): string {
  const door = exported.find((one) => one.name === name && one.file === file) ?? exported.find((one) => one.name === name);
  if (door === undefined) return around[name] ?? "";
  const type = door.symbol.flags & ts.SymbolFlags.Value ? "" : "type ";
  return `import { ${type}${name} } from ${JSON.stringify(door.file.replace(root, "../../"))};`;
}

/** Names in types that users see: not in bodies, initial values and private members. */
function visitPublic(node: ts.Node, see: (reference: ts.Node) => void): void {
  if (ts.isBlock(node) || ts.isJSDoc(node) || ts.isDecorator(node)) return;
  if (ts.isClassElement(node) && node.name !== undefined && (ts.isPrivateIdentifier(node.name) || ts.isComputedPropertyName(node.name)))
    return;
  if (ts.isTypeReferenceNode(node)) see(ts.isQualifiedName(node.typeName) ? node.typeName.right : node.typeName);
  if (ts.isExpressionWithTypeArguments(node)) see(node.expression);
  node.forEachChild((child) => {
    const isInitial = "initializer" in node && node.initializer === child;
    if (!isInitial) visitPublic(child, see);
  });
}
