/** The examples stay short: lines of code that are neither empty nor a comment, as examples/README.md says. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));
/** Not what a user would copy: what scripts say, data, and what stands for the world outside. */
const left = new Set(["script.ts", "scripts.ts", "tasks.ts", "tickets.ts", "policy.ts", "market.ts", "world.ts"]);

function linesOf(text: string): number {
  const source = ts.createSourceFile("x.ts", text, ts.ScriptTarget.Latest, true);
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const line = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
    if (node.getChildCount(source) === 0 && node.getWidth(source) > 0)
      for (let at = line(node.getStart(source)); at <= line(node.getEnd()); at++) lines.add(at);
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return lines.size;
}

test("a line counts when it holds code, whatever else it holds", () => {
  expect(linesOf('/** about */\n// more\n\nconst a = "/*"; // said\nconst b = `x\ny`;\n/* aside */ call();\n')).toBe(4);
});

test.each(["engineering", "trading", "cluster"])("%s: under 150 lines of its own", async (example) => {
  const files = (await readdir(join(folder, example))).filter((name) => name.endsWith(".ts") && !left.has(name));
  const counts = await Promise.all(
    files.map(async (name) => [name, linesOf(await readFile(join(folder, example, name), "utf8"))] as const),
  );
  expect(counts.length).toBeGreaterThan(1);
  expect(
    counts.reduce((sum, [, lines]) => sum + lines, 0),
    JSON.stringify(counts),
  ).toBeLessThan(150);
});
