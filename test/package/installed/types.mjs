/** The packed declarations, as a strict program sees them: every door, under both ways that compilers find modules. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { doorsOf } from "./checks.mjs";

const strict = {
  ...{ strict: true, noEmit: true, target: "es2023", lib: ["es2023", "dom", "esnext.disposable"], types: ["node"] },
  ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
};
const ways = [
  { name: "nodenext", module: "nodenext", moduleResolution: "nodenext" },
  { name: "bundler", module: "esnext", moduleResolution: "bundler" },
];

/** Programs with a type error in them must be refused: a door without types would let anything pass. */
export async function checkTypes(project) {
  const doors = doorsOf(project);
  const imports = doors.map((door, index) => `import * as door${index} from "${door}";`).join("\n");
  const uses = doors.map((_, index) => `door${index}`).join(", ");
  const put = (file, text) => writeFileSync(join(project.folder, file), text);
  put("doors.ts", `${imports}\nexport const all: readonly object[] = [${uses}];\n`);
  put(
    "wrong.ts",
    `${imports}\n${doors.map((_, index) => `// @ts-expect-error: no door is any\nexport const x${index}: never = door${index};`).join("\n")}\n`,
  );
  for (const { name, ...how } of ways) {
    put(
      `tsconfig.${name}.json`,
      JSON.stringify({ compilerOptions: { ...strict, ...how }, files: ["doors.ts", "wrong.ts", "hello.ts", "src/assistant.ts"] }),
    );
    await project.run(`npx tsc -p tsconfig.${name}.json`);
  }
  return `${doors.length} doors with strict and no skipLibCheck: ${ways.map(({ name }) => name).join(", ")}`;
}
